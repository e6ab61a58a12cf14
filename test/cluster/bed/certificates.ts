import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { command } from './command.ts'
import { network, places } from './places.ts'
import { words } from './words.ts'

const file = (name: string): string => join(places.certificates, name)
export const authority = file('ca.crt')
export const authorityKey = file('ca.key')
export const serviceAccountKey = file('service-accounts.key')

export const certificateOf = (name: string): string => file(`${name}.crt`)
export const keyOf = (name: string): string => file(`${name}.key`)

const API_SERVER_NAMES = [
  'DNS:kubernetes',
  'DNS:kubernetes.default',
  'DNS:kubernetes.default.svc',
  'DNS:kubernetes.default.svc.cluster.local',
  `IP:${network.apiService}`,
  `IP:${network.nodeAddress}`,
]
const NODE_NAMES = [`DNS:${network.node}`, `IP:${network.nodeAddress}`]

/** Every part's certificate: its subject is its identity in the cluster. */
const CERTIFICATES: readonly (readonly [name: string, subject: string, names?: string[]])[] = [
  ['apiserver', '/CN=kube-apiserver', API_SERVER_NAMES],
  ['kubelet', `/O=system:nodes/CN=system:node:${network.node}`, NODE_NAMES],
  ['kubelet-client', '/O=system:masters/CN=apiserver-kubelet'],
  ['aggregator', '/CN=aggregator'],
  ['admin', '/O=system:masters/CN=admin'],
  ['kube-controller-manager', '/CN=system:kube-controller-manager'],
  ['kube-scheduler', '/CN=system:kube-scheduler'],
  ['kube-proxy', '/CN=system:kube-proxy'],
]

/** Makes the authority of the cluster and the certificates of its parts, where they are missing. */
export async function makeCertificates(): Promise<void> {
  if (!existsSync(authority)) await makeAuthority()
  for (const [name, subject, names = []] of CERTIFICATES) {
    if (!existsSync(certificateOf(name))) await makeCertificate(name, subject, names)
  }
}

const NEW_CERTIFICATE = words`openssl req -x509 -newkey rsa:2048 -nodes -days 3650`

async function makeAuthority(): Promise<void> {
  await command(words`openssl genrsa -out ${serviceAccountKey} 2048`)
  await command(
    words`${NEW_CERTIFICATE} -subj /CN=cluster-authority -keyout ${authorityKey} -out ${authority}`,
  )
}

async function makeCertificate(name: string, subject: string, names: string[]): Promise<void> {
  const alternative = names.length > 0 ? ['-addext', `subjectAltName=${names.join(',')}`] : []
  await command(
    words`${NEW_CERTIFICATE} -CA ${authority} -CAkey ${authorityKey} -subj ${subject}
      -addext basicConstraints=critical,CA:FALSE -addext extendedKeyUsage=serverAuth,clientAuth
      ${alternative} -keyout ${keyOf(name)} -out ${certificateOf(name)}`,
  )
}
