import { createHmac } from 'node:crypto'

/**
 * The bearer token that starts runs on one crew. Derived, so that it is stored nowhere: the workers compute it, and
 * whoever deploys the crew gives it to the crew's pod.
 */
export function crewToken(secretKeyBase: string, automationId: string): string {
  return createHmac('sha256', secretKeyBase).update(`crew:${automationId}`).digest('hex')
}
