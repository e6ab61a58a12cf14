import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createS3Store } from '../../../../services/shared/object-store/s3-store.ts'
import type { ObjectStore } from '../../../../services/shared/object-store/object-store.ts'
import { signRequest } from '../../../../services/shared/object-store/sign-request.ts'
import { startHttpServer } from '../../../support/http-server.ts'
import { hasS3Server, startS3Server } from '../../../support/s3-server.ts'

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

describe('a new file', () => {
  it('loses the race to another writer, as the store says by 412', async () => {
    const asked: string[] = []
    const server = await startHttpServer(({ method, headers }, response) => {
      asked.push(`${method} ${headers['if-none-match']}`)
      response.statusCode = method === 'GET' ? 404 : asked.length > 2 ? 412 : 409
      response.end()
    })
    const login = { region: 'us-east-1', accessKeyId: 'access', secretAccessKey: 'secret' }
    const store = createS3Store({ ...login, endpoint: server.url, bucket: 'backups', prefix: '' })
    expect(await store.writeNew('heads/1.json', Buffer.from('one'))).toBe(false)
    expect(asked).toEqual(['GET undefined', 'PUT *', 'PUT *'])
    await server.stop()
  })
})

describe.skipIf(!hasS3Server)('a bucket of an S3-compatible server', () => {
  let server: Awaited<ReturnType<typeof startS3Server>>
  let store: ObjectStore

  beforeAll(async () => {
    server = await startS3Server()
    const { endpoint, login } = server
    store = createS3Store({ ...login, endpoint, bucket: 'backups', prefix: 'a place/of+mine/' })
  })
  afterAll(() => server.stop())

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

  it('writes a new file once, and never over another', async () => {
    const write = (text: string) => store.writeNew('heads/1.json', Buffer.from(text))
    expect(await write('one')).toBe(true)
    expect(await write('another')).toBe(false)
    expect(await sizeOf('heads/1.json')).toBe(3)
  })

  it('says what is missing and who is refused', async () => {
    await expect(sizeOf('three/none')).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('NoSuchKey'),
    })
    const stranger = createS3Store({
      ...server.login,
      secretAccessKey: 'wrong',
      endpoint: server.endpoint,
      bucket: 'backups',
      prefix: '',
    })
    await expect(stranger.list()).rejects.toThrow('SignatureDoesNotMatch')
  })
})
