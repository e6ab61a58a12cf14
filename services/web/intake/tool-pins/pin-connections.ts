import {
  findNamedConnections,
  listConnections,
} from '../../../platform/connections/oauth-connections.ts'
import { connectedTools, misdirection } from '../../../platform/connections/tool-connections.ts'
import type { Tool } from '../../../platform/tools/tool-definitions.ts'
import { didYouMean } from '../../../shared/closest.ts'
import { getConnectionToken } from '../../../shared/oauth-service.ts'
import type { OauthServiceAccess } from '../../../shared/oauth-service.ts'
import type { SentToken } from '../../../shared/outgoing/token-header.ts'
import type { Database } from '../../../shared/postgres/database.ts'

/** The names that a message lists. */
const LISTED_MAX = 50

/** The connections of an organization, for the tools of a version. */
export interface PinConnections {
  /** Raises an error for a tool whose connection is unknown, or may not get its token there. */
  check(key: string, tool: Tool): Promise<void>
  /** Returns the access token of a connection. Raises an error that says why there is none. */
  tokenOf(name: string, signal: AbortSignal): Promise<SentToken>
}

const none = (name: string): Error => new Error(`there is no connection ${name}`)

/** Where there are no connections, tools may name none. */
export const NO_CONNECTIONS: PinConnections = {
  async check(key, tool) {
    for (const { connection } of connectedTools({ [key]: tool })) throw none(connection)
  },
  tokenOf: (name) => Promise.reject(none(name)),
}

interface Surroundings {
  readonly sql: Database
  readonly oauth: OauthServiceAccess | undefined
  readonly organizationId: number
}

/** Creates the access to the connections of an organization. */
export function createPinConnections(surroundings: Surroundings): PinConnections {
  const { sql, oauth, organizationId } = surroundings

  async function find(name: string) {
    const [found] = await findNamedConnections(sql, organizationId, [name])
    if (found) return found
    const known = await listConnections(sql, organizationId, { limit: LISTED_MAX })
    const names = known.map((each) => each.name)
    const list = names.length > 0 ? `There are ${names.join(', ')}.` : 'There are none.'
    throw new Error(
      `there is no connection ${name}.${didYouMean(name, names)} ${list} ` +
        'Create it on the page Connections',
    )
  }

  return {
    async check(key, tool) {
      for (const use of connectedTools({ [key]: tool })) {
        const problem = misdirection(use, (await find(use.connection)).hosts)
        if (problem !== undefined) throw new Error(problem)
      }
    },
    async tokenOf(name, signal) {
      const { id } = await find(name)
      if (!oauth) throw new Error('this platform has no OAuth service, which keeps connections')
      return getConnectionToken(oauth, { connectionId: id, signal })
    },
  }
}
