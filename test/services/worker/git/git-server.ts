import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The access token of the server's private repositories. */
export const TOKEN = 'glpat-a-token-of-a-test'

/** Tells whether this machine has git with its server. */
export function hasGit(): boolean {
  try {
    const place = execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim()
    execFileSync('ls', [join(place, 'git-http-backend')], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/**
 * A Git server on 127.0.0.1: what is below `/private` asks for the token, and what is below
 * `/moved` sends elsewhere.
 */
export async function openGitServer() {
  const root = await mkdtemp(join(tmpdir(), 'git-server-'))
  const calls: string[] = []
  const server = createServer((request, response) => {
    calls.push(request.url ?? '')
    serve(root, request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0

  const git = (directory: string, ...args: string[]) =>
    run('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@acme.test', ...args], {
      cwd: directory,
      env: { PATH: process.env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1' },
    })

  return {
    port,
    /** The paths that were asked for. */
    calls,
    /** Commits files to `main` of a repository, which is made if need be; returns the commit. */
    async commit(name: string, files: Readonly<Record<string, string | Buffer>>): Promise<string> {
      const directory = join(root, name)
      await mkdir(directory, { recursive: true })
      await git(directory, 'init', '--quiet', '--initial-branch=main')
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(directory, path)), { recursive: true })
        await writeFile(join(directory, path), content)
      }
      await git(directory, 'add', '--all')
      await git(directory, 'commit', '--quiet', '--message', 'Change the crew')
      const { stdout } = await git(directory, 'rev-parse', 'HEAD')
      return stdout.trim()
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}

function serve(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://git.test')
  if (url.pathname.startsWith('/moved/')) {
    response.writeHead(301, { location: request.url?.replace('/moved', '/open') }).end()
    return
  }
  const [, password] = Buffer.from(request.headers.authorization?.split(' ')[1] ?? '', 'base64')
    .toString()
    .split(':')
  if (url.pathname.startsWith('/private/') && password !== TOKEN) {
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
    return
  }
  answer(root, url, { request, response })
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Hands a request to git's own server by CGI. */
function answer(root: string, url: URL, { request, response }: Exchange): void {
  const child = spawn('git', ['-c', 'safe.directory=*', 'http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      ...(request.headers['content-encoding']
        ? { HTTP_CONTENT_ENCODING: request.headers['content-encoding'] }
        : {}),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  request.pipe(child.stdin)
  child.stdin.on('error', () => {})
  let head = Buffer.alloc(0)
  let isOpen = false
  child.stdout.on('data', (chunk: Buffer) => {
    if (isOpen) return void response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    isOpen = true
    const fields = head.subarray(0, end).toString().split('\r\n').map(toField)
    const status = fields.find(([name]) => name === 'Status')?.[1] ?? '200'
    for (const [name, value] of fields) if (name !== 'Status') response.setHeader(name, value)
    response.writeHead(Number.parseInt(status, 10))
    response.write(head.subarray(end + 4))
  })
  child.on('close', () => response.end())
}

const toField = (line: string): [string, string] => {
  const at = line.indexOf(':')
  return [line.slice(0, at), line.slice(at + 1).trim()]
}
