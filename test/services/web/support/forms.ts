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

/** Follows a redirect and presses *Undo* on its page; returns what was sent. */
export async function pressUndo(
  who: ReturnType<typeof askAs>,
  done: Response,
): Promise<Record<string, string>> {
  const undo = undoOf(await (await who.get(done.headers.get('location') ?? '')).text())
  const { status } = await who.post(undo['action'] ?? '', undo)
  if (status !== 303) throw new Error(`Undo was answered with ${status}`)
  return undo
}

/** The form behind *Undo* on a page: where it is sent to, and its hidden fields. */
function undoOf(page: string): Record<string, string> {
  const [, action = '', content = ''] =
    /with-undo[\s\S]*?<form method="post" action="([^"]*)">([\s\S]*?)<\/form>/.exec(page) ?? []
  const fields = [...content.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value.replaceAll('&amp;', '&')],
  )
  return { action, ...Object.fromEntries(fields.filter(([name]) => name !== 'csrf_token')) }
}
