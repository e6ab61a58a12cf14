import type { EnvSource } from './env.ts'

/** Where programs, certificates, proxies and packages are. */
const NAMES = new Set([
  'PATH',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'PIP_CERT',
  'PIP_INDEX_URL',
  'UV_DEFAULT_INDEX',
  'UV_INDEX_URL',
])

/** Returns what programs of this machine need, among all variables of a process. */
export function machineVariables(source: EnvSource): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const [name, value] of Object.entries(source)) {
    if (value !== undefined && NAMES.has(name)) found[name] = value
  }
  return found
}
