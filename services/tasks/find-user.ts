import { hasUser, listAccounts } from '../platform/people/users.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'

/**
 * The id of the user that an operator names by e-mail address or by id. An address that only the
 * identity provider vouches for is no proof of who somebody is, so that such a user is named by id.
 * Raises `not_found` and `conflict`.
 */
export async function findUser(sql: Database, who: string, usage: string): Promise<number> {
  if (/^[1-9]\d{0,8}$/.test(who)) {
    if (await hasUser(sql, Number(who))) return Number(who)
    throw new AppError('not_found', `There is no user with the id ${who}.`)
  }
  const accounts = await listAccounts(sql, who)
  const local = accounts.find(({ issuer }) => issuer === null)
  if (local) return local.id
  if (accounts.length === 0) {
    throw new AppError('not_found', `There is no user "${who}". ${usage}`)
  }
  const list = accounts.map(({ id, issuer, subject }) => `  ${id}: ${subject} of ${issuer}`)
  throw new AppError(
    'conflict',
    `"${who}" signs in through an identity provider, where addresses may change hands. Name ` +
      `the user by id:\n${list.join('\n')}`,
  )
}
