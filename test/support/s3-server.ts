import { spawn, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

/** Whether an S3-compatible server can be started; says so once where it cannot. */
export const hasS3Server = spawnSync('versitygw', ['--version']).status === 0
if (!hasS3Server) {
  console.log(
    'No versitygw, an S3-compatible store: .ci/install-tools builds it where there is Go.',
  )
}

interface S3Server {
  readonly endpoint: string
  readonly login: { region: string; accessKeyId: string; secretAccessKey: string }
  /** Where the files of the bucket `backups` are. */
  readonly directory: string
  stop(): void
}

/** Starts an S3-compatible server with an empty bucket `backups`. */
export async function startS3Server(): Promise<S3Server> {
  const login = { region: 'us-east-1', accessKeyId: 'access', secretAccessKey: 'a-secret/+key' }
  const root = await mkdtemp(join(tmpdir(), 'bucket-'))
  const directory = join(root, 'data/backups')
  await mkdir(join(root, 'sidecar'))
  await mkdir(directory, { recursive: true })
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  const address = ['--port', `127.0.0.1:${port}`, '--quiet']
  const args = [...address, 'posix', '--sidecar', join(root, 'sidecar'), join(root, 'data')]
  const { accessKeyId, secretAccessKey } = login
  const env = { ...process.env, ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey }
  const server = spawn('versitygw', args, { env, stdio: 'ignore', cwd: root })
  await until(() =>
    fetch(endpoint).then(
      () => true,
      () => false,
    ),
  )
  return { endpoint, login, directory, stop: () => void server.kill() }
}
