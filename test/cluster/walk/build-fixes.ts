import { randomBytes } from 'node:crypto'
import { createMutualTls } from '../../../services/tasks/certificates.ts'
import { words } from '../bed/words.ts'
import { kubectl, read } from './cluster.ts'
import { fixEach } from './fixes.ts'
import type { Fault } from './fixes.ts'
import { NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

type Data = Readonly<Record<string, string>>

const dataOf = async (secret: string): Promise<Data> =>
  (await read<{ data: Data }>(words`secret ${secret} -n ${NAMESPACE}`)).data

const encoded = (data: Data): Data =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  )

/** Puts other values into a Secret, and those that it had the next time. */
function alternate(secret: string, other: () => Data): () => Promise<void> {
  let former: Data | undefined
  return async () => {
    const there = await dataOf(secret)
    const data = former ?? encoded(other())
    former = Object.fromEntries(Object.keys(data).map((key) => [key, there[key] ?? '']))
    const patch = JSON.stringify({ data })
    await kubectl(words`patch secret ${secret} -n ${NAMESPACE} --type=merge -p ${patch}`)
  }
}

const changeKey = alternate('platform-secrets', () => ({
  REGISTRY_KEY: randomBytes(32).toString('hex'),
}))

/** The registry asks for another key than the one that the worker has. */
async function refuseWorker(): Promise<void> {
  await changeKey()
  const registry = words`deployment/platform-internal-registry -n ${NAMESPACE}`
  await kubectl(words`rollout restart ${registry}`)
  await kubectl(words`rollout status ${registry} --timeout=5m`)
}

/** Certificates of another authority, which the worker reads anew, and BuildKit does not. */
const changeCertificates = alternate('platform-build-tls', () => {
  const host = `platform-buildkit.${NAMESPACE}`
  const { authority, server, client } = createMutualTls([host, `${host}.svc`, 'platform-buildkit'])
  return {
    'ca.pem': authority,
    'cert.pem': server.certificate,
    'key.pem': server.key,
    'client-cert.pem': client.certificate,
    'client-key.pem': client.key,
  }
})

// Each twice: the second time, what was there comes back.
const FAULTS: readonly Fault[] = [
  { code: 'build_registry_refused', bringAbout: refuseWorker, isChange: true },
  { code: 'build_registry_refused', bringAbout: refuseWorker },
  { code: 'buildkit_tls_failed', bringAbout: changeCertificates, isChange: true },
  { code: 'buildkit_tls_failed', bringAbout: changeCertificates },
]

export const buildFixes: Step = {
  name: 'build-fixes',
  sentence: 'doctor --fix ends verified for each fault of builds, and all else is as it was before',
  run: () => fixEach(FAULTS),
}
