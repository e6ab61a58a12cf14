import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { helms } from '../bed/requirements.ts'
import { words } from '../bed/words.ts'
import { apply, helm, kubectl, rolledOut, upgrade } from './cluster.ts'
import { freshNamespace, podsAreReady, runLeavesSpans } from './installation.ts'
import { walkTides } from './own-crew.ts'
import { isWell } from './platform.ts'
import { crewsOf } from './step.ts'
import type { Step } from './step.ts'

const PLACE = 'platform-openshift'
const manifest = join(import.meta.dirname, '../manifests/assigned-ids.yaml')
/** What `id` prints for the user that the manifest assigns. */
const ASSIGNED = 'uid=1000670000 gid=0(root) groups=0(root),1000670000'

const idOf = (what: readonly string[]): Promise<string> => kubectl(words`exec ${what} -- id`)

export const openshift: readonly Step[] = [
  {
    name: 'openshift',
    sentence:
      'where the cluster assigns users and groups and refuses all others, as OpenShift does, the ' +
      'platform and a crew from source come up, and come up again on their volumes',
    async run() {
      await apply(readFileSync(manifest, 'utf8'))
      await freshNamespace(PLACE)
      const settings = words`--set global.openshift=true`
      await upgrade(PLACE, settings)
      await isWell(PLACE)
      for (const name of ['deployment/platform-web', 'statefulset/platform-postgres'])
        assert.equal((await idOf(words`-n ${PLACE} ${name}`)).trim(), ASSIGNED)
      assert.match(await idOf(words`-n ${crewsOf(PLACE)} deployment/crew-runner`), /1000670000/)
      await kubectl(words`rollout restart deployments,statefulsets -n ${PLACE}`)
      await rolledOut(PLACE)
      await isWell(PLACE)
      await runLeavesSpans(PLACE)
      const crew = await walkTides(PLACE)
      for (const name of helms()) await helm(words`test platform -n ${PLACE} --timeout 5m`, name)
      const pods = await podsAreReady(PLACE)
      await helm(words`uninstall platform -n ${PLACE} --wait --timeout 10m`)
      await kubectl(words`delete namespace ${PLACE} ${crewsOf(PLACE)} --ignore-not-found --wait`)
      await kubectl(words`delete -f ${manifest}`)
      return `${pods}; a crew ${crew}`
    },
  },
]
