import { Chart } from 'cdk8s'
import type { App } from 'cdk8s'
import { Bootstrap } from './bootstrap.ts'
import { Collector } from './collector.ts'
import { Postgres } from './postgres.ts'
import { Secrets } from './secrets.ts'
import { isSet, not } from './template/operators.ts'
import { onlyWhen } from './template/structure.ts'
import { values } from './values.ts'
import { Web } from './web.ts'
import { Worker } from './worker.ts'

/** The whole deployment, in the order in which it is applied. */
export class PlatformChart extends Chart {
  constructor(app: App) {
    super(app, 'platform')
    const { collector, postgres, secrets } = values

    new Secrets(this, 'secrets')
    onlyWhen(not(isSet(secrets.existingSecret)), new Bootstrap(this, 'bootstrap'))
    onlyWhen(postgres.enabled, new Postgres(this, 'postgres'))
    onlyWhen(collector.enabled, new Collector(this, 'collector'))
    new Web(this, 'web')
    new Worker(this, 'worker')
  }
}
