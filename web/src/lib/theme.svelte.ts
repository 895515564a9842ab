import { keep, recall } from './storage'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

class ThemeSetting {
  choice = $state<Theme>(THEMES.find((each) => each === recall('theme')) ?? 'system')

  apply(): void {
    document.documentElement.dataset.theme = this.choice
  }

  cycle(): void {
    this.choice = THEMES[(THEMES.indexOf(this.choice) + 1) % THEMES.length]!
    keep('theme', this.choice === 'system' ? null : this.choice)
    this.apply()
  }
}

export const theme = new ThemeSetting()
