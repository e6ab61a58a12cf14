import { createHash, createHmac } from 'node:crypto'

/** The login of a bucket, and the region that its signatures name. */
export interface S3Login {
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** A request before it is signed. */
interface UnsignedRequest {
  readonly method: string
  /** With its query in any order. */
  readonly url: URL
  readonly body: Buffer
  readonly now: Date
}

const ALGORITHM = 'AWS4-HMAC-SHA256'

/** Signs a request to an S3-compatible store with Signature Version 4; returns its headers. */
export function signRequest(
  { method, url, body, now }: UnsignedRequest,
  { region, accessKeyId, secretAccessKey }: S3Login,
): Record<string, string> {
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const headers: Record<string, string> = {
    host: url.host,
    'x-amz-content-sha256': sha256(body),
    'x-amz-date': time,
  }
  const names = Object.keys(headers).sort()
  const canonical = [
    method,
    url.pathname,
    canonicalQuery(url.searchParams),
    ...names.map((name) => `${name}:${headers[name]}`),
    '',
    names.join(';'),
    headers['x-amz-content-sha256'],
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const toSign = [ALGORITHM, time, scope, sha256(canonical)].join('\n')
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${secretAccessKey}`,
  )
  const credential = `Credential=${accessKeyId}/${scope}`
  const signature = `Signature=${hmac(key, toSign).toString('hex')}`
  headers['authorization'] =
    `${ALGORITHM} ${credential}, SignedHeaders=${names.join(';')}, ${signature}`
  return headers
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')

const hmac = (key: string | Buffer, data: string): Buffer =>
  createHmac('sha256', key).update(data).digest()

function canonicalQuery(parameters: URLSearchParams): string {
  const pairs = [...parameters].map(([name, value]) => `${encode(name)}=${encode(value)}`)
  return pairs.sort().join('&')
}

/** As the signature wants it: everything but letters, digits and `-._~`. */
export const encode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
