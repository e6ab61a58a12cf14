import assert from 'node:assert/strict'
import { words } from '../bed/words.ts'
import { task } from './platform.ts'

/** A person of an organization, signed in as a browser is. */
export interface Session {
  /** The text of a page. */
  readonly page: (path: string) => Promise<string>
}

/** Makes a person and signs them in with the password. */
export async function signIn(namespace: string, base: string): Promise<Session> {
  const email = `walk-${Date.now()}@example.com`
  const printed = await task(namespace, words`users:create ${email} Default`)
  const password = printed.trim().split('\n').at(-1) ?? ''
  const form = await fetch(`${base}/sign-in`, { signal: AbortSignal.timeout(20_000) })
  const [, token = ''] = /name="csrf_token"\s+value="([^"]+)"/.exec(await form.text()) ?? []
  const answer = await fetch(`${base}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookiesOf(form) },
    body: new URLSearchParams({ csrf_token: token, email, password }),
    signal: AbortSignal.timeout(20_000),
  })
  assert.equal(answer.status, 303, await answer.text())
  const cookie = cookiesOf(answer)
  return {
    async page(path) {
      const signal = AbortSignal.timeout(20_000)
      const shown = await fetch(base + path, { headers: { cookie }, redirect: 'manual', signal })
      const text = await shown.text()
      assert.equal(shown.status, 200, text)
      return text
    },
  }
}

const cookiesOf = ({ headers }: Response): string =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
