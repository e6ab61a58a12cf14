import { Construct } from 'constructs'
import { GivenObjects } from './template/given.ts'
import { values } from './values.ts'

/** The operator's own objects. */
export class ExtraObjects extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    new GivenObjects(this, 'objects', values.extraObjects)
  }
}
