import type { EnvSource } from '../shared/env.ts'
import { deployDirectory } from './deploy-source/deploy-directory.ts'
import { DEPLOY_USAGE, readDeployRequest } from './deploy-source/options.ts'
import { applyFiles } from './resources/apply-files.ts'
import { exportDocuments } from './resources/export-documents.ts'
import { evaluateSet } from './evaluate/evaluate-set.ts'
import { EVALUATE_USAGE, readEvaluateRequest } from './evaluate/options.ts'
import { readReplayRequest, REPLAY_USAGE } from './replay/options.ts'
import { replayRuns } from './replay/replay-runs.ts'
import {
  APPLY_USAGE,
  EXPORT_USAGE,
  readApplyRequest,
  readExportRequest,
} from './resources/options.ts'
import { verifyReceipt } from './verify-receipt.ts'

const write = (text: string): void => void process.stdout.write(text)
const complain = (text: string): void => void process.stderr.write(text)

/** Writes what tasks print. */
export const OUTPUT = { result: write, problem: complain }

/** The tasks that run anywhere, of which most call the API of a platform, and read no database. */
export const API_TASKS = {
  'automations:deploy': {
    summary:
      'DIR --to URL: deploy a project over the API, and follow it until it is online; --help',
    async run(source: EnvSource, args: readonly string[]) {
      const request = readDeployRequest(args, source)
      if (!request) return write(DEPLOY_USAGE)
      return deployDirectory(request, {
        result: (text) => write(`${text}\n`),
        progress: (text) => complain(`${text}\n`),
      })
    },
  },
  apply: {
    summary: 'FILE|DIR… --url URL: make a platform have what files say, over the API; see --help',
    async run(source: EnvSource, args: readonly string[]) {
      const request = readApplyRequest(args, source)
      if (!request) return write(APPLY_USAGE)
      return applyFiles(request, OUTPUT)
    },
  },
  replay: {
    summary:
      '--automation ID --version N --offline --url URL: perform recorded runs again; ' +
      'see --help',
    async run(source: EnvSource, args: readonly string[]) {
      const request = readReplayRequest(args, source)
      if (!request) return write(REPLAY_USAGE)
      return replayRuns(request, OUTPUT)
    },
  },
  evaluate: {
    summary:
      '--automation ID --set NAME --version N --url URL: perform the cases of a set; see --help',
    async run(source: EnvSource, args: readonly string[]) {
      const request = readEvaluateRequest(args, source)
      if (!request) return write(EVALUATE_USAGE)
      return evaluateSet(request, OUTPUT)
    },
  },
  'receipt:verify': {
    summary: 'FILE --key PUB [--head FILE]: say whether a receipt holds, offline; --help',
    async run(_source: EnvSource, args: readonly string[]) {
      return verifyReceipt(args, OUTPUT)
    },
  },
  export: {
    summary: '--url URL: print what a platform has as documents for `apply`; see --help',
    async run(source: EnvSource, args: readonly string[]) {
      const request = readExportRequest(args, source)
      write(request ? await exportDocuments(request) : EXPORT_USAGE)
    },
  },
}
