import type { BrowserContextOptions, Page } from 'playwright-core'
import { createLog } from '../../../../services/shared/log.ts'
import type { Service } from '../../../../services/shared/http/serve.ts'
import { start } from '../../../../services/web/start.ts'
import { chromiumPath, launchBrowser } from '../../../../scripts/pictures/browser.ts'
import { freePort } from '../../../support/free-port.ts'
import { openPlatform, environment } from './platform.ts'
import type { Tenant, Platform } from './platform.ts'

/** A web service on a platform, seen through a browser. */
export interface Console {
  readonly platform: Platform
  readonly service: Service
  /** A page of somebody who is signed in, or of nobody. */
  open(who: Tenant | undefined, options?: BrowserContextOptions): Promise<Page>
  close(): Promise<void>
}

const chromium = chromiumPath()
if (!chromium) console.warn('browser tests skipped: no Chromium found; set CHROMIUM_PATH')

/** True when this machine has no browser; a warning has said so. */
export const hasNoBrowser = chromium === undefined

/** Opens a console for the tests of a file. `passwordHash` is that of every user. */
export async function openConsole(
  options: { passwordHash?: string; variables?: Record<string, string> } = {},
): Promise<Console> {
  const platform = await openPlatform(options.passwordHash)
  const port = String(await freePort())
  const log = createLog({ name: 'web', level: 'silent' })
  const variables = { PORT: port, ...options.variables }
  const env = { ...environment(platform.url, `http://127.0.0.1:${port}`), ...variables }
  const service = await start(env, { log, lingerMs: 0 })
  const browser = await launchBrowser(chromium ?? '')
  return {
    platform,
    service,
    async open(who, context) {
      const opened = await browser.newContext(context)
      // Waiting ends with the event; a click took more than half a minute beside 85 programs.
      opened.setDefaultTimeout(120_000)
      if (who) {
        const { token } = await platform.signIn(who)
        await opened.addCookies([{ name: 'platform_session', value: token, url: service.url }])
      }
      return opened.newPage()
    },
    async close() {
      await browser.close()
      await service.stop()
      await platform.close()
    },
  }
}
