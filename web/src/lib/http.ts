/** One way to call the gateway, and one shape for everything that can go wrong on the way. */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfter: number | null = null,
    readonly field: string | null = null,
  ) {
    super(message)
    this.name = 'ApiError'
  }

  /** Asking again later can succeed without the person changing anything. */
  get transient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500
  }
}

/** Seconds from a Retry-After header, which may also hold an HTTP date. */
export function parseRetryAfter(value: string | null, now: number): number | null {
  if (value === null || value.trim() === '') return null
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds))
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now) / 1000))
}

/** Addresses are relative to the page, so that it also works below a path prefix. */
export function address(path: string): string {
  return new URL(path.replace(/^\//, ''), document.baseURI).href
}

interface Call {
  method?: 'GET' | 'POST'
  body?: unknown
  headers?: Record<string, string>
}

export async function call<T>(path: string, { method = 'GET', body, headers = {} }: Call = {}): Promise<T> {
  const init: RequestInit = { method, headers: { Accept: 'application/json', ...headers }, credentials: 'same-origin' }
  if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { ...init.headers, 'Content-Type': 'application/json' }
  }
  let response: Response
  try {
    response = await fetch(address(path), init)
  } catch {
    throw new ApiError(0, 'unreachable', '')
  }
  if (!response.ok) throw await failure(response)
  try {
    return (await response.json()) as T
  } catch {
    throw new ApiError(response.status, 'unreadable', '')
  }
}

async function failure(response: Response): Promise<ApiError> {
  const retryAfter = parseRetryAfter(response.headers.get('Retry-After'), Date.now())
  const body: unknown = await response.json().catch(() => null)
  const error = errorIn(body)
  return new ApiError(response.status, error.code, error.message, retryAfter, error.field)
}

function errorIn(body: unknown): { code: string; message: string; field: string | null } {
  const error = (body as { error?: { code?: unknown; message?: unknown; field?: unknown } } | null)?.error
  return {
    code: typeof error?.code === 'string' ? error.code : 'unreadable',
    message: typeof error?.message === 'string' ? error.message : '',
    field: typeof error?.field === 'string' ? error.field : null,
  }
}
