import type { WebConfig } from '../../env.ts'

type Urls = Pick<WebConfig, 'PLATFORM_BASE_URL' | 'PLATFORM_API_PREFIX'>

/** Returns the address of an automation's API as its callers see it (SPEC 4.4). */
export function automationUrl(config: Urls, automationId: string): string {
  return `${config.PLATFORM_BASE_URL}${automationPath(config, automationId)}`
}

/** Returns the same without the host; with `:automationId` it is the route. */
export function automationPath(config: Pick<Urls, 'PLATFORM_API_PREFIX'>, id: string): string {
  return `/${config.PLATFORM_API_PREFIX}/api/v1/crew/${id}`
}
