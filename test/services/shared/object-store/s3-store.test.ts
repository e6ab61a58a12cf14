import { spawn, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createS3Store } from '../../../../services/shared/object-store/s3-store.ts'
import type { ObjectStore } from '../../../../services/shared/object-store/object-store.ts'
import { signRequest } from '../../../../services/shared/object-store/sign-request.ts'
import { freePort } from '../../../support/free-port.ts'
import { until } from '../../../support/until.ts'

const isThere = spawnSync('versitygw', ['--version']).status === 0
if (!isThere) {
  console.log(
    'No versitygw, an S3-compatible store: .ci/install-tools builds it where there is Go.',
  )
}

describe('a signature', () => {
  // Two examples of the documentation of Signature Version 4 for S3.
  it.each([
    ['?lifecycle=', 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
    ['?max-keys=2&prefix=J', '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
  ])('of GET /%s is the one of the documentation', (query, signature) => {
    const headers = signRequest(
      {
        method: 'GET',
        url: new URL(`https://examplebucket.s3.amazonaws.com/${query}`),
        body: Buffer.alloc(0),
        now: new Date('2013-05-24T00:00:00Z'),
      },
      {
        region: 'us-east-1',
        accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
        secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      },
    )
    expect(headers['authorization']).toContain(`Signature=${signature}`)
  })
})

describe.skipIf(!isThere)('a bucket of an S3-compatible server', () => {
  const login = { region: 'us-east-1', accessKeyId: 'access', secretAccessKey: 'a-secret/+key' }
  let stop: () => void
  let endpoint: string
  let store: ObjectStore

  beforeAll(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'bucket-'))
    await mkdir(join(directory, 'sidecar'))
    await mkdir(join(directory, 'data/backups'), { recursive: true })
    const port = await freePort()
    endpoint = `http://127.0.0.1:${port}`
    const args = [
      '--port',
      `127.0.0.1:${port}`,
      '--quiet',
      'posix',
      '--sidecar',
      join(directory, 'sidecar'),
      join(directory, 'data'),
    ]
    const { accessKeyId, secretAccessKey } = login
    const env = { ...process.env, ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey }
    const server = spawn('versitygw', args, { env, stdio: 'ignore', cwd: directory })
    stop = () => void server.kill()
    await until(() =>
      fetch(endpoint).then(
        () => true,
        () => false,
      ),
    )
    store = createS3Store({ ...login, endpoint, bucket: 'backups', prefix: 'a place/of+mine/' })
  })
  afterAll(() => stop())

  async function* pieces(count: number): AsyncGenerator<Buffer> {
    for (let number = 0; number < count; number++) yield Buffer.alloc(1 << 20, `${number}`)
  }

  async function sizeOf(path: string): Promise<number> {
    let bytes = 0
    for await (const chunk of store.read(path)) bytes += chunk.length
    return bytes
  }

  it('keeps files of one part and of several, lists them and removes them', async () => {
    await store.write('one/small.sealed', pieces(1))
    await store.write('one/large.sealed', pieces(19))
    expect(await store.list()).toEqual([
      { path: 'one/large.sealed', bytes: 19 << 20 },
      { path: 'one/small.sealed', bytes: 1 << 20 },
    ])
    expect(await sizeOf('one/large.sealed')).toBe(19 << 20)
    await store.remove('one/small.sealed')
    expect(await store.list()).toHaveLength(1)
  })

  it('keeps nothing of a file whose content ends with an error', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield* pieces(17)
      throw new Error('the database went away')
    }
    await expect(store.write('two/main.sealed', broken())).rejects.toThrow('went away')
    expect((await store.list()).map(({ path }) => path)).not.toContain('two/main.sealed')
  })

  it('says what is missing and who is refused', async () => {
    await expect(sizeOf('three/none')).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('NoSuchKey'),
    })
    const stranger = createS3Store({
      ...login,
      secretAccessKey: 'wrong',
      endpoint,
      bucket: 'backups',
      prefix: '',
    })
    await expect(stranger.list()).rejects.toThrow('SignatureDoesNotMatch')
  })
})
