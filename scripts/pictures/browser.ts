import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'

const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Where a Chromium is: `CHROMIUM_PATH`, or one that the system has. */
export function chromiumPath(): string | undefined {
  return [process.env['CHROMIUM_PATH'] ?? '', ...CANDIDATES].find(
    (path) => path && existsSync(path),
  )
}

/** Starts a Chromium that talks to nobody but the pages it is told to open. */
export async function launchBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}
