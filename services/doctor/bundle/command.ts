import { rename, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import packageJson from '../../../package.json' with { type: 'json' }
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { isSecretName } from '../../shared/redact.ts'
import { writeTar } from '../../shared/tar/write-tar.ts'
import type { TarFile } from '../../shared/tar/write-tar.ts'
import { readDatabases } from '../databases.ts'
import { openCluster } from '../kubernetes/cluster.ts'
import { createCollection } from './collection.ts'
import type { Collection } from './collection.ts'
import { collectCluster } from './from-cluster.ts'
import { collectDatabase } from './from-database.ts'
import { collectAddress, collectDirectory } from './from-machine.ts'
import type { BundleCommand } from './options.ts'

interface Bundle {
  /** The archive, where it is to go to standard output. */
  readonly archive: Uint8Array | undefined
  /** What people are told. */
  readonly text: string
  /** False if nothing at all could be read. */
  readonly hasContent: boolean
}

/**
 * Collects what helpers need to see of an installation, whatever of it works, and writes it as an
 * archive. Raises `invalid_request` for a file that cannot be written.
 */
export async function makeBundle(command: BundleCommand, env: EnvSource): Promise<Bundle> {
  const collection = createCollection()
  const secrets = Object.entries(env).filter(([name]) => isSecretName(name))
  collection.redaction.learn(secrets.map(([, value = '']) => value))
  if (command.hasCluster) {
    await collection.part('the cluster', async () => {
      const cluster = await openCluster(command, env)
      const crews = command.crewNamespace ?? `${cluster.namespace}-crews`
      const scope = {
        namespaces: [...new Set([cluster.namespace, crews])],
        logged: command.hasCrewLogs ? [cluster.namespace, crews] : [cluster.namespace],
        token: command.token,
      }
      await collectCluster(cluster, scope, collection)
    })
  }
  if (command.url !== undefined) await collectAddress(command.url, command, collection)
  if (command.data !== undefined) await collectDirectory(command.data, collection)
  await collectDatabases(env, collection)
  return write(command, collection)
}

async function collectDatabases(env: EnvSource, collection: Collection): Promise<void> {
  await collection.part('the databases', async () => {
    const { main, traces } = readDatabases(env)
    if (main) await collectDatabase('main', main, collection)
    else collection.note('the main database', 'neither DATABASE_URL nor DB_HOST is set')
    if (traces) await collectDatabase('collector', traces, collection)
    else collection.note("the collector's database", 'COLLECTOR_DATABASE_URL is not set')
  })
}

async function write({ out }: BundleCommand, collection: Collection): Promise<Bundle> {
  const files = collection.files()
  const unread = collection.unread()
  const at = new Date().toISOString()
  const index = { at, doctor: packageJson.version, files: [...files.keys()], unread }
  const folder = `platform-bundle-${at.slice(0, 19).replaceAll(/[:T]/g, '-')}`
  const all = new Map([['index.json', `${JSON.stringify(index, null, 2)}\n`], ...files])
  const archive = await toArchive(folder, all)
  const name = out ?? `${folder}.tar.gz`
  if (name !== '-') await writeArchive(name, archive)
  const lines = [
    `${files.size} files, ${Math.ceil(archive.length / 1024)} kB${name === '-' ? '' : `: ${name}`}`,
    ...unread.map(({ what, why }) => `  not read: ${what}: ${why}`),
    'Secrets and e-mail addresses are redacted. Look through it before you pass it on.',
  ]
  return {
    archive: name === '-' ? archive : undefined,
    text: `${lines.join('\n')}\n`,
    hasContent: files.size > 0,
  }
}

async function toArchive(folder: string, files: ReadonlyMap<string, string>): Promise<Buffer> {
  async function* tarFiles(): AsyncGenerator<TarFile> {
    for (const [path, text] of files) {
      const content = Buffer.from(text)
      const chunks = (async function* () {
        yield content
      })()
      yield {
        path: `${folder}/${path}`,
        isExecutable: false,
        size: content.length,
        content: chunks,
      }
    }
  }
  const blocks: Uint8Array[] = []
  for await (const block of writeTar(tarFiles())) blocks.push(block)
  return promisify(gzip)(Buffer.concat(blocks))
}

async function writeArchive(name: string, archive: Buffer): Promise<void> {
  try {
    await writeFile(`${name}.new`, archive, { mode: 0o600 })
    await rename(`${name}.new`, name)
  } catch (thrown) {
    throw new AppError('invalid_request', `${name} cannot be written: ${toError(thrown).message}`)
  }
}
