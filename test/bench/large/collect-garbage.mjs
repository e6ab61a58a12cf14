// Imported by a program whose memory is measured: without it, what nobody holds any more would count.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
setInterval(() => collect(), 5000).unref()
