/** Local storage that may be full or forbidden: the page works without it, and only forgets. */

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(`agon.${key}`)
  } catch {
    return null
  }
}

export function keep(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`agon.${key}`)
    else localStorage.setItem(`agon.${key}`, value)
  } catch {
    return
  }
}
