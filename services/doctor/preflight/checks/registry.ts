import type { PreflightContext } from '../context.ts'
import { findManifest, parseImage } from '../registry-client.ts'
import { readRegistryLogin } from '../registry-login.ts'
import { describeOutage, failed, passed, skipped } from '../result.ts'
import type { Result } from '../result.ts'
import { pullInPod } from './pull-in-pod.ts'

/** The registry has the images, and, where that is asked for, the nodes can pull one. */
export async function checkRegistry(context: PreflightContext): Promise<Result> {
  const { installation, env, signal } = context
  const { images } = installation
  if (images.length === 0) return skipped('no registry is named: pass --values or --image')
  const missing: string[] = []
  for (const text of images) {
    const image = parseImage(text)
    try {
      const login = await readRegistryLogin(image.host, env)
      const status = await findManifest(image, { login, signal })
      if (status === 401 || status === 403) {
        const error = `HTTP ${status} from ${image.host} for ${text}`
        return failed('registry_refused', error, { details: { images } })
      }
      if (status === 404) missing.push(text)
      else if (status !== 200) {
        return failed('registry_unreachable', `HTTP ${status} from ${image.host} for ${text}`)
      }
    } catch (thrown) {
      return failed('registry_unreachable', `${image.host}: ${describeOutage(thrown)}`)
    }
  }
  if (missing.length > 0) {
    const error = `the registry does not have ${missing.join(', ')}`
    return failed('image_missing', error, { details: { images } })
  }
  if (!context.isPulling) return passed(['images_found'], { images })
  return pullInPod(context, images[0] ?? '')
}
