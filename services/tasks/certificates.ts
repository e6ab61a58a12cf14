import {
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import type { KeyObject } from 'node:crypto'

/** Long: to renew them all programs that have one are restarted. */
const YEARS = 10

/** A certificate and its key, in PEM. */
export interface KeyedCertificate {
  readonly certificate: string
  readonly key: string
}

/** An authority, with a certificate for a server and one for its clients. */
export interface MutualTls {
  readonly authority: string
  readonly server: KeyedCertificate
  readonly client: KeyedCertificate
}

/**
 * Makes an authority that signs two certificates, and forgets its key: whoever has the client's one
 * is let in, and nobody can make another one.
 */
export function createMutualTls(names: readonly string[], now = new Date()): MutualTls {
  const root = { name: 'crew-platform builds', keys: newKeys() }
  const authority = certify({ subject: root, issuer: root, now, extensions: [AUTHORITY, SIGNS] })
  const issue = (name: string, extensions: readonly Buffer[]): KeyedCertificate => {
    const subject = { name, keys: newKeys() }
    const certificate = certify({ subject, issuer: root, now, extensions })
    const key = subject.keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    return { certificate, key }
  }
  return {
    authority,
    server: issue('buildkit', [usedBy('1'), alternativeNames(names)]),
    client: issue('builds', [usedBy('2')]),
  }
}

/** Returns whether a certificate and a key belong together and are good for some weeks more. */
export function isUsable({ certificate, key }: KeyedCertificate, now = new Date()): boolean {
  try {
    const parsed = new X509Certificate(certificate)
    const ends = Date.parse(parsed.validTo)
    return parsed.checkPrivateKey(createPrivateKey(key)) && ends - now.getTime() > 60 * 86_400_000
  } catch {
    return false
  }
}

interface Holder {
  readonly name: string
  readonly keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject }
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

interface Certified {
  readonly subject: Holder
  readonly issuer: Holder
  readonly now: Date
  readonly extensions: readonly Buffer[]
}

/** X.509 version 3 (RFC 5280), signed with ECDSA and SHA-256. */
function certify({ subject, issuer, now, extensions }: Certified): string {
  const until = new Date(now)
  until.setUTCFullYear(now.getUTCFullYear() + YEARS)
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, newSerial()),
    ECDSA_WITH_SHA256,
    nameOf(issuer),
    sequence(time(new Date(now.getTime() - 3_600_000)), time(until)),
    nameOf(subject),
    subject.keys.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', content, issuer.keys.privateKey)
  const whole = sequence(content, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), signature))
  const lines = whole.toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

/** One value: its tag, its length, its content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const [high, low] = [length >> 8, length & 0xff]
  const head = high === 0 ? [tag, 0x81, low] : [tag, 0x82, high, low]
  return Buffer.concat([Buffer.from(head), content])
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts)

/** Begins with the bits 01: positive, and as short as DER asks; OpenSSL refuses any other. */
function newSerial(): Buffer {
  const serial = randomBytes(16)
  serial[0] = 0x40 | ((serial[0] ?? 0) & 0x3f)
  return serial
}

const oid = (...bytes: readonly number[]): Buffer => der(0x06, Buffer.from(bytes))
/** GeneralizedTime, without fractions. */
const time = (at: Date): Buffer =>
  der(0x18, Buffer.from(`${at.toISOString().replaceAll(/[-:T]|\.\d+Z/g, '')}Z`))

const ECDSA_WITH_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
const COMMON_NAME = oid(0x55, 0x04, 0x03)

const nameOf = ({ name }: Holder): Buffer =>
  sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(name)))))

const extension = (id: Buffer, value: Buffer): Buffer =>
  sequence(id, der(0x01, Buffer.from([0xff])), der(0x04, value))

const AUTHORITY = extension(oid(0x55, 0x1d, 0x13), sequence(der(0x01, Buffer.from([0xff]))))
/** keyCertSign alone. */
const SIGNS = extension(oid(0x55, 0x1d, 0x0f), der(0x03, Buffer.from([2, 0x04])))

/** Of a server (1) or of a client (2). */
const usedBy = (who: '1' | '2'): Buffer =>
  extension(
    oid(0x55, 0x1d, 0x25),
    sequence(oid(0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, Number(who))),
  )

const alternativeNames = (names: readonly string[]): Buffer =>
  extension(oid(0x55, 0x1d, 0x11), sequence(...names.map((name) => der(0x82, Buffer.from(name)))))
