import { Chart } from 'cdk8s'
import type { App } from 'cdk8s'
import { Archive } from './archive.ts'
import { Backup } from './backup.ts'
import { Bootstrap, isBootstrapNeeded } from './bootstrap.ts'
import { Buildkit } from './buildkit.ts'
import { Collector } from './collector.ts'
import { isConfigured } from './calls.ts'
import { Configuration } from './configuration.ts'
import { Crews } from './crews.ts'
import { InternalRegistry } from './internal-registry.ts'
import { Monitoring } from './monitoring.ts'
import { Network } from './network.ts'
import { Oauth } from './oauth.ts'
import { Postgres } from './postgres.ts'
import { Routes } from './routes.ts'
import { Secrets } from './secrets.ts'
import { Setup } from './setup.ts'
import { all } from './template/operators.ts'
import { onlyWhen } from './template/structure.ts'
import { values } from './values.ts'
import { Web } from './web.ts'
import { Worker } from './worker.ts'
import { Construct } from 'constructs'
import { GivenObjects } from './template/given.ts'

/** The operator's own objects. */
class ExtraObjects extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    new GivenObjects(this, 'objects', values.extraObjects)
  }
}

/** The whole deployment, in the order in which it is applied. */
export class PlatformChart extends Chart {
  constructor(app: App) {
    super(app, 'platform')
    const { buildkit, collector, internalRegistry, oauth, postgres } = values

    onlyWhen(values.networkPolicy.enabled, new Network(this, 'network'))
    new Secrets(this, 'secrets')
    onlyWhen(isBootstrapNeeded, new Bootstrap(this, 'bootstrap'))
    onlyWhen(postgres.enabled, new Postgres(this, 'postgres'))
    onlyWhen(collector.enabled, new Collector(this, 'collector'))
    onlyWhen(internalRegistry.enabled, new InternalRegistry(this, 'internal-registry'))
    onlyWhen(buildkit.enabled, new Buildkit(this, 'buildkit'))
    onlyWhen(oauth.enabled, new Oauth(this, 'oauth'))
    new Web(this, 'web')
    new Worker(this, 'worker')
    new Setup(this, 'setup')
    onlyWhen(values.crews.install, new Crews(this, 'crews'))
    onlyWhen(values.backup.enabled, new Backup(this, 'backup'))
    onlyWhen(all(collector.enabled, collector.archive.enabled), new Archive(this, 'archive'))
    new Routes(this, 'routes')
    new Monitoring(this, 'monitoring')
    onlyWhen(isConfigured, new Configuration(this, 'configuration'))
    new ExtraObjects(this, 'extra-objects')
  }
}
