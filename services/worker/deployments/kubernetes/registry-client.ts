import * as v from 'valibot'
import { deadline } from '../../../shared/deadline.ts'
import { AppError } from '../../../shared/errors.ts'
import { readBounded } from '../../../shared/http/read-bounded.ts'
import { registryCredential } from '../../../shared/registry-credentials.ts'
import type { ImageLayer } from '../../../platform/crews/crew-images.ts'
import type { CrewOwner } from '../crew-host.ts'
import type { ImageBuilder } from './cluster-settings.ts'
import { repositoryOf } from './image-names.ts'

const CALL_MS = 15_000
const ANSWER_BYTES_MAX = 4 * 1024 * 1024
const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.oci.image.index.v1+json',
].join(', ')

const layer = v.object({ digest: v.string(), size: v.number() })
const manifest = v.object({ config: v.optional(layer), layers: v.optional(v.array(layer), []) })
const tagList = v.object({ tags: v.nullish(v.array(v.string())) })

/** An image as the registry has it. */
interface StoredImage {
  readonly digest: string
  /** Its layers and its configuration. */
  readonly layers: readonly ImageLayer[]
}

/** The images of one automation in the internal registry. Each call raises `unavailable`. */
export interface ImageRepository {
  readonly tags: () => Promise<readonly string[]>
  /** Returns an image by its tag or its digest; undefined: there is none. */
  readonly find: (reference: string) => Promise<StoredImage | undefined>
  /** Deletes an image by its digest, with its tags; one that is not there is fine. */
  readonly remove: (digest: string) => Promise<void>
}

/** Opens the images of an automation, through the gate of the registry. */
export function openRepository(
  { registry, registryKey }: Pick<ImageBuilder, 'registry' | 'registryKey'>,
  owner: CrewOwner,
): ImageRepository {
  const { username, password } = registryCredential(registryKey, owner.organizationId, 'push')
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const base = `http://${registry}/v2/${repositoryOf(owner)}`
  const call = async (method: string, path: string): Promise<Answer> => {
    const headers = { authorization, accept: MANIFESTS }
    const limit = { name: 'The registry of crew images', timeoutMs: CALL_MS }
    try {
      return await deadline(limit, async (signal) => {
        const response = await fetch(base + path, { method, headers, signal, redirect: 'error' })
        return { response, text: await readBounded(response, ANSWER_BYTES_MAX) }
      })
    } catch (cause) {
      throw new AppError('unavailable', 'The registry of crew images does not answer.', { cause })
    }
  }
  return {
    async tags() {
      const answer = await call('GET', '/tags/list')
      return isMissing(answer) ? [] : (v.parse(tagList, read(answer)).tags ?? [])
    },
    async find(reference) {
      const answer = await call('GET', `/manifests/${reference}`)
      if (isMissing(answer)) return undefined
      const { config, layers } = v.parse(manifest, read(answer))
      const digest = answer.response.headers.get('docker-content-digest') ?? ''
      return { digest, layers: config ? [config, ...layers] : layers }
    },
    async remove(digest) {
      const answer = await call('DELETE', `/manifests/${digest}`)
      if (!isMissing(answer)) check(answer)
    },
  }
}

interface Answer {
  readonly response: Response
  /** Undefined: it is too long. */
  readonly text: string | undefined
}

const isMissing = ({ response }: Answer): boolean => response.status === 404

function check({ response, text }: Answer): void {
  if (response.ok) return
  const said = text?.slice(0, 300) ?? ''
  throw new AppError(
    'unavailable',
    `The registry of crew images answered ${response.status}: ${said}`.trim(),
  )
}

function read(answer: Answer): unknown {
  check(answer)
  try {
    return JSON.parse(answer.text ?? '')
  } catch (cause) {
    const message = 'The registry of crew images answered with something that is no JSON.'
    throw new AppError('unavailable', message, { cause })
  }
}
