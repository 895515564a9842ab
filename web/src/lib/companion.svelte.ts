import { ApiError, call } from './http'

const REST_MS = 3_000

/** A page beside the board, such as its matrix: fetched when first shown, and again a while after the votes moved. */
export class Companion<T> {
  value = $state.raw<T | null>(null)
  failure = $state.raw<ApiError | null>(null)
  loading = $state(false)

  #path: string | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #asked = 0

  /** Shows the page at this path. Asked for the same again, it waits for others who may ask too. */
  show(path: string): void {
    if (path === this.#path) {
      this.#timer ??= setTimeout(() => void this.refresh(), REST_MS)
      return
    }
    this.#path = path
    this.value = null
    void this.refresh()
  }

  async refresh(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#path === null) return
    const asked = ++this.#asked
    this.loading = true
    try {
      const value = await call<T>(this.#path)
      if (asked === this.#asked) this.#take(value, null)
    } catch (reason) {
      if (asked === this.#asked) this.#take(this.value, reason instanceof ApiError ? reason : new ApiError(0, 'unexpected', ''))
    }
  }

  dispose(): void {
    clearTimeout(this.#timer)
    this.#asked += 1
    this.#path = null
  }

  #take(value: T | null, failure: ApiError | null): void {
    this.value = value
    this.failure = failure
    this.loading = false
  }
}
