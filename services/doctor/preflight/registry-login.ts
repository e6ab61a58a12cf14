import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import type { EnvSource } from '../../shared/env.ts'

/** A name and a password for a registry. */
export interface RegistryLogin {
  readonly username: string
  readonly password: string
}

const dockerConfig = v.object({
  auths: v.optional(v.record(v.string(), v.object({ auth: v.optional(v.string(), '') })), {}),
})

/**
 * Finds the login for a registry: REGISTRY_USERNAME and REGISTRY_PASSWORD, or what `docker login`
 * or `podman login` wrote. Undefined without one; helpers that keep passwords elsewhere are not
 * asked.
 */
export async function readRegistryLogin(
  host: string,
  env: EnvSource,
): Promise<RegistryLogin | undefined> {
  const { REGISTRY_USERNAME: username, REGISTRY_PASSWORD: password } = env
  if (username && password) return { username, password }
  for (const file of loginFiles(env)) {
    const login = await readLogin(file, host)
    if (login) return login
  }
  return undefined
}

function loginFiles(env: EnvSource): readonly string[] {
  const { HOME = '.', DOCKER_CONFIG = join(HOME, '.docker'), XDG_RUNTIME_DIR: runtime } = env
  const podman = runtime ? [join(runtime, 'containers', 'auth.json')] : []
  return [join(DOCKER_CONFIG, 'config.json'), ...podman]
}

async function readLogin(file: string, host: string): Promise<RegistryLogin | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '{}')
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), dockerConfig), text)
  const auth = parsed.success ? (parsed.output.auths[host]?.auth ?? '') : ''
  const [, username = '', password = ''] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(auth, 'base64').toString('utf8')) ?? []
  return username && password ? { username, password } : undefined
}
