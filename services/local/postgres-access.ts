import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, chown, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { AppError } from '../shared/errors.ts'
import { serverOwner } from './postgres-binaries.ts'

/** The access rules of a data directory. */
export interface Access {
  /** The folder of PostgreSQL's programs. */
  readonly binaries: string
  readonly directory: string
  /** Of the superuser: letters, digits, `-` and `_`. */
  readonly password: string
}

/**
 * Lets nobody into the server without the password: whoever gets in may run programs as its user.
 * To be called before the server starts. Does nothing when it was done before with this password.
 * Raises `invalid_configuration`.
 */
export async function requirePassword(access: Access): Promise<void> {
  const rules = await readFile(rulesFile(access), 'utf8')
  if (rules === rulesFor(access.password)) return
  await setPassword(access)
  await writeRules(access)
}

/** Of the server's data, who may connect and how. For data whose superuser has the password. */
export const writeRules = (access: Access): Promise<void> =>
  writeOwned(rulesFile(access), rulesFor(access.password))

/**
 * Calls with the name of a file that holds the password, for as long as the call takes; only the
 * server's user reads it.
 */
export async function withPasswordFile(
  { directory, password }: Access,
  call: (file: string) => Promise<void>,
): Promise<void> {
  const file = `${directory}.password`
  await writeOwned(file, password)
  try {
    await call(file)
  } finally {
    await rm(file, { force: true })
  }
}

const rulesFile = ({ directory }: Access): string => join(directory, 'pg_hba.conf')

/** The fingerprint shows which password was set; only the owner can read the file. */
function rulesFor(password: string): string {
  const fingerprint = createHash('sha256').update(password).digest('hex').slice(0, 16)
  const hosts = ['127.0.0.1/32', '::1/128'].flatMap((address) => [
    `host all all ${address} scram-sha-256`,
    `host replication all ${address} scram-sha-256`,
  ])
  return [`# password ${fingerprint}`, 'local all all scram-sha-256', ...hosts, ''].join('\n')
}

/** In single-user mode: no server listens while the password is not the one that is wanted. */
async function setPassword({ binaries, directory, password }: Access): Promise<void> {
  if (!/^[\w-]{16,}$/.test(password)) {
    throw new AppError('invalid_configuration', 'The password of PostgreSQL is not a usable one.')
  }
  const server = spawn(join(binaries, 'postgres'), ['--single', '-D', directory, 'postgres'], {
    ...serverOwner,
    cwd: '/',
    env: { LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  server.stdin.on('error', () => {})
  server.stdin.end(`alter role postgres password '${password}'\n`)
  const [[code], output] = await Promise.all([once(server, 'exit'), text(server.stderr)])
  if (code === 0 && !/ERROR|FATAL|PANIC/.test(output)) return
  throw new AppError(
    'invalid_configuration',
    `the data in ${directory} cannot be used. Move the directory elsewhere to start afresh, or ` +
      `choose another with --data.\n${output.trim()}`,
  )
}

async function writeOwned(file: string, content: string): Promise<void> {
  const next = `${file}.next`
  await writeFile(next, content, { mode: 0o600 })
  await chmod(next, 0o600)
  const { uid, gid } = serverOwner
  if (uid !== undefined && gid !== undefined) await chown(next, uid, gid)
  await rename(next, file)
}
