import { setTimeout as sleep } from 'node:timers/promises'
import { createReadStream } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import {
  isLeftOut,
  readEntryPath,
  refuseEntry,
} from '../../platform/crews/source-archive/entry-path.ts'
import {
  SOURCE_FILES_MAX,
  UNPACKED_BYTES_MAX,
  tooManyBytes,
  tooManyFiles,
} from '../../platform/crews/source-archive/limits.ts'
import { AppError } from '../../shared/errors.ts'
import { writeTar } from '../../shared/tar/write-tar.ts'
import type { TarFile } from '../../shared/tar/write-tar.ts'
import type { DeployRequest } from './options.ts'
import { createClient, isRefused } from './platform-client.ts'
import type { RemoteDeployment } from './platform-client.ts'

const POLL_MS = 1000
const ENDS: Readonly<Record<string, number>> = {
  'Crew is Online': 0,
  'Crew has Failed': 2,
  Replaced: 2,
  'Crew is Offline': 2,
}
const REFUSED = 2
const LATE = 3

/** Where the task writes: its result, and how far it is. */
export interface Output {
  readonly result: (text: string) => void
  readonly progress: (text: string) => void
}

/** Deploys a directory, follows the deployment to its end, and returns the exit code. */
export async function deployDirectory(request: DeployRequest, output: Output): Promise<number> {
  const { result, progress } = request.json ? { ...output, progress: () => {} } : output
  const client = createClient(request)
  try {
    const files = await listProjectFiles(request.directory)
    const bytes = files.reduce((sum, { size }) => sum + size, 0)
    progress(`Sending ${files.length} files, ${bytes} bytes before compression.`)
    const { create } = request
    const url =
      create === undefined
        ? request.url.href.replace(/\/+$/, '')
        : await client.create(request.url, create)
    if (create !== undefined) progress(`Created ${url}`)
    const sent = await client.deploy(url, packFiles(request.directory, files))
    progress(`Deployment ${sent.number}: ${sent.state}`)
    const { deployment, code } = await follow({ client, url, request, progress }, sent)
    result(request.json ? toJson(url, deployment) : toText(deployment, code))
    return code
  } catch (thrown) {
    if (!isRefused(thrown)) throw thrown
    result(request.json ? JSON.stringify({ error: thrown.message }) : thrown.message)
    return REFUSED
  }
}

interface Following {
  readonly client: ReturnType<typeof createClient>
  readonly url: string
  readonly request: DeployRequest
  readonly progress: (text: string) => void
}

async function follow(
  { client, url, request, progress }: Following,
  sent: RemoteDeployment,
): Promise<{ deployment: RemoteDeployment; code: number }> {
  if (request.timeoutMs === 0) return { deployment: sent, code: 0 }
  const until = performance.now() + request.timeoutMs
  let deployment = sent
  let read = 0
  for (;;) {
    const before = deployment.state
    const log = await client.readLog(url, sent.number, read)
    read = log.next
    if (log.text !== '') progress(log.text.trimEnd())
    deployment = await client.look(url, sent.number)
    if (deployment.state !== before) progress(`Deployment ${sent.number}: ${deployment.state}`)
    const code = ENDS[deployment.state]
    if (code !== undefined) return { deployment, code }
    if (performance.now() > until) return { deployment, code: LATE }
    await sleep(POLL_MS)
  }
}

const toJson = (url: string, { number, state, reason, source }: RemoteDeployment): string =>
  JSON.stringify({ automation: url, number, state, reason, digest: source.digest }, null, 2)

function toText({ number, state, reason }: RemoteDeployment, code: number): string {
  const why = reason === null ? '' : ` ${reason}`
  if (code === LATE) return `Deployment ${number} is not online yet: ${state}.${why}`
  return `Deployment ${number}: ${state}.${why}`
}

/** A file of a project on the disk. */
interface LocalFile {
  /** Relative to the project, with /. */
  readonly path: string
  readonly size: number
  readonly isExecutable: boolean
}

/**
 * Lists the files of a project in a directory, by path, without those that no source keeps. Raises
 * `invalid_request` for links and odd names, and `payload_too_large`.
 */
async function listProjectFiles(directory: string): Promise<LocalFile[]> {
  const files: LocalFile[] = []
  let room = UNPACKED_BYTES_MAX
  const walk = async (folder: string): Promise<void> => {
    for (const name of (await readFolder(join(directory, folder))).toSorted()) {
      const path = readEntryPath(Buffer.from(folder === '' ? name : `${folder}/${name}`))
      if (isLeftOut(path)) continue
      const facts = await lstat(join(directory, path))
      if (facts.isDirectory()) {
        await walk(path)
        continue
      }
      if (!facts.isFile()) {
        throw refuseEntry(path, 'is a link or no file. Put the file itself in its place')
      }
      room -= facts.size
      if (room < 0) throw tooManyBytes()
      if (files.length === SOURCE_FILES_MAX) throw tooManyFiles()
      files.push({ path, size: facts.size, isExecutable: (facts.mode & 0o100) !== 0 })
    }
  }
  await walk('')
  if (files.length === 0) throw new AppError('invalid_request', `${directory} has no files.`)
  return files
}

async function readFolder(path: string): Promise<string[]> {
  try {
    return await readdir(path)
  } catch {
    throw new AppError('invalid_request', `${path} cannot be read as a directory.`)
  }
}

/** Returns files as a .tar.gz, read as they are asked for. */
async function* packFiles(directory: string, files: readonly LocalFile[]): AsyncGenerator<Buffer> {
  const gzip = createGzip()
  const writing = pipeline(Readable.from(writeTar(open(directory, files))), gzip)
  // It ends the reading below as well.
  writing.catch(() => {})
  for await (const chunk of gzip) yield chunk
  await writing
}

async function* open(directory: string, files: readonly LocalFile[]): AsyncGenerator<TarFile> {
  for (const file of files) yield { ...file, content: createReadStream(join(directory, file.path)) }
}
