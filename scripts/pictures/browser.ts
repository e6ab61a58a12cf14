import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'

const CANDIDATES = [
  // Without windows of its own it opens a page with half the work.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Features of Chromium that are off, in place of the list that Playwright gives. */
const OFF = [
  // Parts of the browser's own window that are pages themselves, each in a process.
  'InitialWebUI',
  'PreloadTopChromeWebUI',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxPopup',
  // A process for the next page, before there is one.
  'SpareRendererForSitePerProcess',
  // Requests to the makers of the browser.
  'AimEnabled',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PreconnectToSearch',
  // What keeps a page from leaving or from showing, or asks for HTTPS instead of HTTP.
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'PaintHolding',
]

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
      // A graphics card that is not used needs no process.
      '--in-process-gpu',
      '--disable-software-rasterizer',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--disable-features=${OFF.join(',')}`,
    ],
  })
}
