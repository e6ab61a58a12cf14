import { Hono } from 'hono'
import type { WebApp } from '../../context.ts'
import { getAssets } from './assets.ts'

/**
 * Serves the stylesheet, the scripts, the icon and the font. Their addresses change with their
 * content, so browsers keep them for ever. Throws when a file is missing: no service starts without
 * it.
 */
export function assetRoutes(): Hono<WebApp> {
  const routes = new Hono<WebApp>()
  for (const { path, type, content } of Object.values(getAssets())) {
    routes.get(path, (c) =>
      c.body(content, 200, {
        'content-type': type,
        'cache-control': 'public, max-age=31536000, immutable',
      }),
    )
  }
  return routes
}
