import type { Platform, SignedInUser } from './platform.ts'
import { BASE_URL } from './platform.ts'

/** Asks for pages of the console, and sends their forms, as somebody who is signed in. */
export const askAs = (app: Platform['app'], who: SignedInUser) => ({
  get: async (path: string): Promise<Response> =>
    app.request(BASE_URL + path, { headers: { cookie: who.cookie } }),
  post: async (path: string, fields: Record<string, string> = {}): Promise<Response> =>
    app.request(BASE_URL + path, {
      method: 'POST',
      headers: { cookie: who.cookie, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ csrf_token: who.csrfToken, ...fields }),
    }),
})
