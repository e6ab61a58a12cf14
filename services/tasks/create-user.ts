import { parseArgs } from 'node:util'
import { OPERATOR, writeAudit } from '../platform/audit/audit.ts'
import { readOrganizationRole } from '../platform/people/memberships.ts'
import type { OrganizationRole } from '../platform/people/memberships.ts'
import {
  ensureDefaultOrganization,
  getOrganizationByName,
} from '../platform/people/organizations.ts'
import { hashPassword } from '../platform/people/passwords.ts'
import { ensureUser, findCredentials, grantRole } from '../platform/people/users.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError, toError } from '../shared/errors.ts'
import { newPassword } from './accounts.ts'

const USAGE =
  'Use: users:create EMAIL [ORGANIZATION] [--role ROLE], where ROLE is viewer (the default), ' +
  'editor, admin, or platform-admin: an admin of the organization and of the whole platform.'

/** A person to create. */
interface UserRequest {
  readonly email: string
  readonly organization: string | undefined
  /** The role in the organization. */
  readonly role: OrganizationRole
  /** True for one who is an administrator of the whole platform too. */
  readonly isPlatformAdmin: boolean
}

/** Reads the arguments of the task. Raises `invalid_request`. */
export function readUserRequest(args: readonly string[]): UserRequest {
  const { positionals, role: given = 'viewer' } = parse(args)
  const [email = '', organization, ...others] = positionals
  if (others.length > 0) throw refusal('There are too many arguments; quote a name with spaces.')
  if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw refusal(`"${email}" is no e-mail address.`)
  const isPlatformAdmin = given === 'platform-admin'
  const role = isPlatformAdmin ? 'admin' : readOrganizationRole(given)
  if (role === undefined) throw refusal(`There is no role "${given}".`)
  return { email, organization, role, isPlatformAdmin }
}

function parse(args: readonly string[]): { positionals: string[]; role: string | undefined } {
  try {
    const options = { role: { type: 'string' } } as const
    const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true })
    return { positionals, role: values.role }
  } catch (thrown) {
    throw refusal(toError(thrown).message)
  }
}

const refusal = (problem: string): AppError =>
  new AppError('invalid_request', `${problem} ${USAGE}`)

/**
 * Creates a person with a random password, in the organization of that name or, without one, where
 * everybody lands whom nobody put anywhere. Returns the password, which is stored as a hash only.
 * Raises `not_found` for an organization that is not there, and `conflict` for an address that is
 * taken.
 */
export async function createUser(
  sql: Database,
  { email, organization, role, isPlatformAdmin }: UserRequest,
): Promise<{ password: string; organization: string }> {
  if (await findCredentials(sql, email)) throw taken(email)
  const password = newPassword()
  const passwordHash = await hashPassword(password)
  const { id: organizationId, name } = await (organization === undefined
    ? ensureDefaultOrganization(sql)
    : getOrganizationByName(sql, organization))
  await sql.begin(async (transaction) => {
    const user = { organizationId, role, email, name: email, passwordHash }
    const id = await ensureUser(transaction, user)
    if (isPlatformAdmin) await grantRole(transaction, id, 'platform-admin')
    const target = { kind: 'user', id, name: email }
    const after = { role, platform_admin: isPlatformAdmin }
    const entry = { action: 'user_created', organizationId, target, after }
    await writeAudit(transaction, OPERATOR, entry)
  })
  return { password, organization: name }
}

const taken = (email: string): AppError =>
  new AppError(
    'conflict',
    `There is a user ${email} already. \`users:password ${email}\` gives a new password, ` +
      `\`users:enable ${email}\` lets a disabled one in again, \`users:grant ${email}\` makes ` +
      `an administrator of the platform, \`members:set ${email} ORGANIZATION ROLE\` a member.`,
  )

/** Says what the person may do, for whoever ran the task. */
export function describeUser(request: UserRequest, organization: string): string {
  const { email, role, isPlatformAdmin } = request
  const also = isPlatformAdmin ? ', and an administrator of the whole platform' : ''
  return `${email} is ${role === 'viewer' ? 'a' : 'an'} ${role} of "${organization}"${also}.`
}
