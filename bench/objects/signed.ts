/** Signed requests to the S3 API over one connection that stays open, and how long their answers take. */
import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import {
  canonicalRequest,
  type Scope,
  scopeText,
  sign,
  signingKey,
  stringToSign,
} from '../../src/s3/signature/sigv4.js';
import { encodeStrictly } from '../../src/s3/target.js';
import type { S3Key } from './doors.js';

export interface Answer {
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Milliseconds from the request to the last octet. */
  readonly ms: number;
}

export interface Asker {
  /** Throws for an answer that is not a success. `path`: without characters that must be escaped. */
  ask(
    method: string,
    path: string,
    query?: Readonly<Record<string, string>>,
    more?: { readonly headers?: Readonly<Record<string, string>>; readonly body?: Buffer | string },
  ): Promise<Answer>;
  close(): void;
}

export function createAsker(port: number, key: S3Key, connections = 1): Asker {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return {
    close: () => agent.destroy(),
    ask(method, path, query = {}, { headers = {}, body = '' } = {}) {
      const payload = createHash('sha256').update(body).digest('hex');
      const timestamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
      const scope: Scope = { date: timestamp.slice(0, 8), region: 'auto' };
      const host = `127.0.0.1:${port}`;
      const all = { host, 'x-amz-content-sha256': payload, 'x-amz-date': timestamp, ...headers };
      const fields = Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1));
      const pairs = Object.entries(query);
      const canonical = canonicalRequest({ method, canonicalPath: path, query: pairs, headers: fields, payload });
      const signature = sign(signingKey(key.secretAccessKey, scope), stringToSign(canonical, timestamp, scope));
      const names = fields.map(([name]) => name).join(';');
      const credential = `${key.accessKeyId}/${scopeText(scope)}`;
      const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`;
      const search = pairs.map(([name, value]) => `${name}=${encodeStrictly(value)}`).join('&');
      const sent = { ...all, authorization, 'content-length': Buffer.byteLength(body) };
      return new Promise((resolve, reject) => {
        const began = performance.now();
        const options = { host: '127.0.0.1', port, method, path: `${path}?${search}`, headers: sent, agent };
        const call = request(options, (answer) => {
          const pieces: Buffer[] = [];
          answer.on('data', (piece: Buffer) => pieces.push(piece));
          answer.on('error', reject);
          answer.on('end', () => {
            const text = Buffer.concat(pieces).toString();
            const ms = performance.now() - began;
            if (answer.statusCode! < 300) resolve({ text, headers: answer.headers, ms });
            else reject(new Error(`${method} ${path}?${search}: ${answer.statusCode} ${text}`));
          });
        });
        call.on('error', reject);
        call.end(body);
      });
    },
  };
}
