import { signCollectorToken } from '../../../../services/shared/collector-token.ts'
import type { CollectorTokenOptions } from '../../../../services/shared/collector-token.ts'
import { postTo, SECRET } from './harness.ts'

export const A = 'organization-a'
export const B = 'organization-b'

/** The header of a token with these claims. */
export async function authorizationOf(options: CollectorTokenOptions = {}): Promise<string> {
  return `Bearer ${await signCollectorToken(SECRET, 'test', options)}`
}

interface Place {
  readonly collector: { readonly url: string }
}

/** Sends and asks as an organization; undefined for the platform. */
export interface Tenant {
  send(body: Buffer): Promise<number>
  ask(path: string): Promise<{ status: number; text: string }>
}

export function tenantOf(harness: Place, organization?: string): Tenant {
  const authorization = () => authorizationOf({ organization })
  return {
    async send(body) {
      const headers = { authorization: await authorization() }
      const response = await postTo(harness.collector.url, body, headers)
      const text = await response.text()
      if (text !== '') throw new Error(text)
      return response.status
    },
    async ask(path) {
      const headers = { authorization: await authorization() }
      const response = await fetch(`${harness.collector.url}${path}`, { headers })
      return { status: response.status, text: await response.text() }
    },
  }
}
