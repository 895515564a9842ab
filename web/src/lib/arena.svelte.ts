import { getStatus } from './api'
import type { Status } from './types'

const POLL_WHILE_LOADING_MS = 3_000
const POLL_WHILE_READY_MS = 60_000

/** What the arena says about itself; asked often while models are loading, seldom afterwards. */
class Arena {
  status = $state.raw<Status | null>(null)
  unreachable = $state(false)
  #timer: ReturnType<typeof setTimeout> | undefined

  async refresh(): Promise<void> {
    clearTimeout(this.#timer)
    try {
      this.status = await getStatus()
      this.unreachable = false
    } catch {
      this.unreachable = true
    }
    const settled = this.status?.ready === true && !this.unreachable
    this.#timer = setTimeout(() => void this.refresh(), settled ? POLL_WHILE_READY_MS : POLL_WHILE_LOADING_MS)
  }
}

export const arena = new Arena()
