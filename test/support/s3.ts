/** S3 in this process: s3rver with its files in a temporary directory, behind a server that can have faults. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** What happens to a request. `lost`: it is done, and its answer does not come. `cut`: the answer ends after some octets. */
export type Fault = 'slow' | 'fails' | 'lost' | 'cut' | 'missing' | 'cut before' | Answer;

/** In place of that of the server. */
interface Answer {
  readonly status: number;
  readonly xml: string;
}

export interface TestS3 {
  /** For `--objects`; with the credentials in the environment of this process. */
  readonly address: string;
  /** Names of bodies that are there. */
  bodies(): readonly string[];
  /** `choose` says what happens to each request from now on. */
  setFaults(choose: (method: string, url: string) => Fault | undefined): void;
  /** The time that it tells who asks about the bucket, milliseconds since 1970; undefined: it tells none. */
  setTime(nowMs: number | undefined): void;
  /** Requests up to now, such as `PUT /bodies/…`. */
  readonly requests: readonly string[];
  stop(): Promise<void>;
}

interface S3rver {
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
  configureBuckets(): Promise<unknown>;
}

const S3RVER = createRequire(import.meta.url)('s3rver') as new (options: object) => S3rver;
export const S3_ENVIRONMENT = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };
/** Octets of a response that is cut. */
const CUT_AFTER = 70_000;

export async function startS3(t: Pick<Test, 'teardown'>): Promise<TestS3> {
  Object.assign(process.env, S3_ENVIRONMENT);
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-s3-'));
  const s3 = new S3RVER({ directory, silent: true, configureBuckets: [{ name: 'bodies', configs: [] }] });
  await s3.configureBuckets();
  const handle = s3.callback();
  const requests: string[] = [];
  let choose: (method: string, url: string) => Fault | undefined = () => undefined;
  let time: { readonly nowMs: number | undefined } | undefined;
  const server = createServer((request, response) => {
    const isAboutBucket = request.method === 'HEAD' && /^\/bodies\/?(?:\?|$)/.test(request.url!);
    if (time && isAboutBucket) response.sendDate = false;
    if (time?.nowMs !== undefined && isAboutBucket) response.setHeader('date', new Date(time.nowMs).toUTCString());
    requests.push(`${request.method} ${request.url}`);
    const fault = choose(request.method!, request.url!);
    if (typeof fault === 'object') {
      request.resume();
      response.writeHead(fault.status, { 'content-type': 'application/xml' });
      return void response.end(fault.xml);
    }
    if (fault === 'slow') return;
    if (fault === 'cut before') return void request.socket.destroy();
    if (fault === 'fails' || fault === 'missing') {
      request.resume();
      response.statusCode = fault === 'fails' ? 500 : 404;
      return void response.end();
    }
    if (fault === 'lost') return void handle(request, withoutAnswer(request, request.socket));
    if (fault === 'cut') cutAfter(response, CUT_AFTER);
    handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  };
  t.teardown(stop);
  return {
    address: `s3://bodies/test?endpoint=http://127.0.0.1:${port}`,
    bodies: () =>
      (readdirSync(directory, { recursive: true }) as string[]).flatMap(
        (path) => /test\/..\/([0-9a-f]{32})\._S3rver_object$/.exec(path)?.[1] ?? [],
      ),
    setFaults(next) {
      choose = next;
    },
    setTime: (nowMs) => void (time = { nowMs }),
    requests,
    stop,
  };
}

/** What is done is done, but its answer goes nowhere, and the connection ends. */
function withoutAnswer(request: IncomingMessage, real: Socket): ServerResponse {
  const nowhere = new (class extends Socket {
    override write(...all: unknown[]): boolean {
      const written = all.at(-1);
      if (typeof written === 'function') process.nextTick(written);
      return true;
    }
  })();
  const { ServerResponse: Response } = createRequire(import.meta.url)('node:http') as typeof import('node:http');
  const response = new Response(request);
  response.assignSocket(nowhere);
  response.on('finish', () => real.destroy());
  return response;
}

function cutAfter(response: ServerResponse, most: number): void {
  let sent = 0;
  const write = response.write.bind(response) as (chunk: Buffer) => boolean;
  response.write = ((chunk: Buffer, ...rest: unknown[]) => {
    if (sent === most) return true;
    if (sent + chunk.length <= most) {
      sent += chunk.length;
      return (write as (...all: unknown[]) => boolean)(chunk, ...rest);
    }
    write(chunk.subarray(0, most - sent));
    sent = most;
    // By then the response has ended, and no longer holds its connection.
    const { socket } = response;
    setTimeout(() => socket?.destroy(), 20);
    return true;
  }) as typeof response.write;
}
