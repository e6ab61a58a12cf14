import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, toError } from '../shared/errors.ts'
import { createDataTemplate } from './data-template.ts'
import type { DataTemplate } from './data-template.ts'
import { requirePassword, withPasswordFile, writeRules } from './postgres-access.ts'
import type { Access } from './postgres-access.ts'
import { findPostgresBinaries, serverOwner } from './postgres-binaries.ts'
import { diskFullMessage, isDiskFull } from './disk-full.ts'
import { endOrphan, hasServer, prepareDataDirectory } from './postgres-data.ts'

/** The settings of an embedded PostgreSQL server. */
export interface EmbeddedPostgresOptions {
  /** The data directory; made on first use. */
  readonly directory: string
  readonly port: number
  /** Of the superuser: letters, digits, `-` and `_`. */
  readonly password: string
  /** Where a template of new data directories is kept; without it, each is made from nothing. */
  readonly cache?: string
  /** Extra server settings: `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>
}

/** A running PostgreSQL server. */
export interface EmbeddedPostgres {
  readonly pid: number
  /** The `postgres` database, as superuser. */
  readonly url: string
  /** Resolves when the server ends, for whatever reason. */
  readonly exited: Promise<unknown>
  /** The end of what the server has written about itself. */
  readonly output: () => string
  /** A fast shutdown: sessions are cut, nothing that was committed is lost. */
  stop(): Promise<void>
}

const INITDB =
  '-U postgres --auth=scram-sha-256 -E UTF8 --locale=C --locale-provider=builtin ' +
  '--builtin-locale=C.UTF-8 --no-instructions'
const START_TIMEOUT_MS = 30_000
/** A fast shutdown writes one checkpoint, which takes less. */
const HURRY_MS = 10_000
const spawnOptions = { ...serverOwner, cwd: '/', env: { LC_ALL: 'C', TZ: 'UTC' } }

/**
 * Runs a real PostgreSQL out of an npm package, for development and tests; the data survive a stop.
 * Raises `invalid_configuration` for a platform without binaries, a port in use, a second server on
 * the same data, or data that PostgreSQL cannot read.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const { port, password } = options
  const { native, version } = await findPostgresBinaries()
  const binaries = join(native, 'bin')
  const directory = await prepareDataDirectory(options.directory)
  await endOrphan(directory)
  const entry = { binaries, directory, password }
  if (!(await exists(join(directory, 'PG_VERSION')))) {
    await initialize(entry, templateOf(options, version))
  }
  if (!(await hasServer(directory))) await requirePassword(entry)
  const server = spawn(join(binaries, 'postgres'), serverArguments(directory, options), {
    ...spawnOptions,
    stdio: ['ignore', 'ignore', 'pipe'],
    // Ctrl-C in a terminal reaches every process of the foreground group; the services stop first,
    // then this one.
    detached: true,
  })
  // Not `exit`: what it has said is to be read to its end.
  const exited = once(server, 'close')
  // However this process ends, short of a SIGKILL, the server ends with it.
  const end = (): void => void server.kill('SIGINT')
  process.once('exit', end)
  server.once('exit', () => process.off('exit', end))
  const output = collect(server)
  await untilReady(server, output, { directory, port })
  return {
    pid: server.pid ?? 0,
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    exited,
    output: output.text,
    async stop() {
      end()
      // A server that restarts after a crash may forget the signal; its log recovers from this one.
      const hurry = setTimeout(() => server.kill('SIGQUIT'), HURRY_MS)
      await exited
      clearTimeout(hurry)
    },
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

function serverArguments(
  directory: string,
  { port, settings = {} }: EmbeddedPostgresOptions,
): string[] {
  const all = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    // Works where /dev/shm is missing or tiny, as in containers.
    dynamic_shared_memory_type: 'mmap',
    shared_buffers: '64MB',
    max_connections: '200',
    ...settings,
  }
  const flags = Object.entries(all).flatMap(([key, value]) => ['-c', `${key}=${value}`])
  return ['-D', directory, '-p', String(port), ...flags]
}

function templateOf({ cache }: EmbeddedPostgresOptions, version: string): DataTemplate | undefined {
  if (cache === undefined) return undefined
  const options = createHash('sha256').update(INITDB).digest('hex').slice(0, 8)
  return createDataTemplate(cache, [process.platform, process.arch, version, options].join('-'))
}

/** One from the template has the template's password until `requirePassword` sets its own. */
async function initialize(entry: Access, template: DataTemplate | undefined): Promise<void> {
  if (await template?.take(entry.directory)) return
  await withPasswordFile(entry, (file) => runInitdb(entry, file))
  await template?.keep(entry.directory)
  await writeRules(entry)
}

async function runInitdb({ binaries, directory }: Access, passwordFile: string): Promise<void> {
  const options = ['-D', directory, `--pwfile=${passwordFile}`, ...INITDB.split(' ')]
  const initdb = spawn(join(binaries, 'initdb'), options, {
    ...spawnOptions,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const output = collect(initdb)
  const [code] = await once(initdb, 'exit')
  if (code === 0) return
  const why = isDiskFull(output.text()) ? diskFullMessage(directory) : output.text().trim()
  throw new AppError(
    'invalid_configuration',
    `PostgreSQL could not make its data directory ${directory}: ${why}`,
  )
}

interface Output {
  readonly text: () => string
}

/** Keeps the end of what a program says, without the lines of statements, which are long. */
function collect(child: ChildProcess): Output {
  let text = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).replace(/^\t.*\n/gm, '').slice(-20_000)
  })
  return { text: () => text }
}

interface ServerLocation {
  readonly directory: string
  readonly port: number
}

async function untilReady(
  server: ChildProcess,
  output: Output,
  location: ServerLocation,
): Promise<void> {
  const ready = new Promise<void>((done, fail) => {
    const timer = setTimeout(() => fail(new Error('it took too long')), START_TIMEOUT_MS)
    server.stderr?.on('data', () => {
      if (!/ready to accept (read-only )?connections/.test(output.text())) return
      clearTimeout(timer)
      done()
    })
    server.once('error', fail)
    server.once('exit', () => {
      clearTimeout(timer)
      fail(new Error(startFailure(output.text(), location)))
    })
  })
  try {
    await ready
  } catch (cause) {
    server.kill('SIGKILL')
    const message = `PostgreSQL did not start: ${toError(cause).message}`
    throw new AppError('invalid_configuration', message, { cause })
  }
}

function startFailure(output: string, { directory, port }: ServerLocation): string {
  if (isDiskFull(output)) return diskFullMessage(directory)
  if (/could not bind|Address already in use/.test(output)) {
    return (
      `port ${port} is in use by another program. Stop that program, or choose other ports with ` +
      '--port-base.'
    )
  }
  if (/lock file .* already exists/.test(output)) {
    return (
      `another server runs on ${directory}. Stop that copy of the platform, or choose another ` +
      'directory with --data.'
    )
  }
  const reasons = output.split('\n').filter((line) => /FATAL|PANIC|HINT|ERROR/.test(line))
  return (
    `the data in ${directory} cannot be used. Move the directory elsewhere to start afresh, or ` +
    `choose another with --data.\n${reasons.slice(-4).join('\n') || output.trim()}`
  )
}
