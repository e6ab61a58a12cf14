import { generateKeyPair, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { exportJWK, importPKCS8 } from 'jose'
import type { CryptoKey } from 'jose'
import {
  addIdentityKey,
  listIdentityKeys,
  resealIdentityKey,
} from '../platform/connections/identity-keys.ts'
import type { IdentityKey } from '../platform/connections/identity-keys.ts'
import { AppError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { Database } from '../shared/postgres/database.ts'
import { createVault } from '../shared/vault.ts'

/** The algorithm that each receiver of ID tokens takes (OpenID Connect Core §15.1). */
export const ALGORITHM = 'RS256'
const KEY_BITS = 2048

const makeKeys = promisify(generateKeyPair)

/** Options of `createIdentityKeys`. */
export interface IdentityKeysOptions {
  readonly sql: Database
  readonly log: Log
  /** The text that seals the private keys, and the one before. */
  readonly current: string
  readonly previous?: string | undefined
}

/** The keys that identities are signed with. */
export interface IdentityKeys {
  /** Returns the public keys: those that sign, will sign, or did lately. */
  readonly published: () => Promise<readonly IdentityKey['publicKey'][]>
  readonly forSigning: () => Promise<{ readonly kid: string; readonly key: CryptoKey }>
}

/** Creates the access to the keys, and makes a new one when it is time. They are sealed at rest. */
export function createIdentityKeys(options: IdentityKeysOptions): IdentityKeys {
  const { sql, log, current, previous } = options
  const vault = createVault({ label: 'crew-platform identity key', current, previous })

  async function add(): Promise<void> {
    const { privateKey, publicKey } = await makeKeys('rsa', { modulusLength: KEY_BITS })
    const kid = randomUUID()
    const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
    const jwk = { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: ALGORITHM }
    await addIdentityKey(sql, { kid, sealedKey: vault.seal(pem, kid), publicKey: jwk })
    log.info({ kid }, 'a key for the identities of runs was made')
  }

  async function listReadable() {
    return (await listIdentityKeys(sql)).flatMap((key) => {
      const found = vault.open(key.sealedKey, key.kid)
      return found ? [{ ...key, ...found }] : []
    })
  }

  return {
    async published() {
      // Anybody may ask: only the very first key is made for that.
      if ((await listIdentityKeys(sql)).length === 0) await add()
      return (await listIdentityKeys(sql)).map(({ publicKey }) => publicKey)
    },
    async forSigning() {
      const [newest] = await listReadable()
      // Two replicas may both make one at the same time: then there are two.
      if (!newest || newest.isOld) await add()
      const keys = await listReadable()
      // The newest that receivers have had the time to fetch; any while none is so old.
      const chosen = keys.find(({ isKnown }) => isKnown) ?? keys.at(-1)
      if (!chosen) throw new AppError('internal', 'No key signs the identities of runs.')
      const { kid, secret: pem, isCurrent } = chosen
      if (!isCurrent) await resealIdentityKey(sql, { kid, sealedKey: vault.seal(pem, kid) })
      return { kid, key: await importPKCS8(pem, ALGORITHM) }
    },
  }
}
