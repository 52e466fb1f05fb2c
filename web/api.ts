/** Requests to the API. The session is a cookie that scripts cannot read; writes carry the header that proves they are ours. */
import type { Diff, Message, ResultInfo } from './types.js';

/** Under which the API is served. */
export const BASE = '/client/v4';

/** An answer of the API, with the header fields that screens use. */
export interface Answer<Result> {
  readonly result: Result;
  readonly messages: readonly Message[];
  readonly info: ResultInfo | undefined;
  /** The difference that resolvers would see: only of dry runs. */
  readonly diff: Diff | undefined;
  /** State of the zone, for `If-Match`. */
  readonly etag: string | undefined;
  /** Number of the change that a write made. */
  readonly change: string | undefined;
  readonly serial: string | undefined;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** A refusal of the API; status 0: the server cannot be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly errors: readonly Message[],
  ) {
    super(sentenceOf(errors));
    this.name = 'ApiError';
  }
  /** The problem with a member of the body, by JSON pointer. */
  at(pointer: string): string | undefined {
    return this.errors.find(({ source }) => source?.pointer === pointer)?.message;
  }
}

/** The message of this code only says that something is wrong with a request. */
const BAD_BODY = 9207;

/** The text of a refusal; the chain says what exactly is wrong. */
function sentenceOf(errors: readonly Message[]): string {
  return errors
    .flatMap(({ code, message, error_chain: chain = [] }) => {
      const reasons = chain.map((item) => item.message);
      return code === BAD_BODY && reasons.length > 0 ? reasons : [message, ...reasons];
    })
    .join(' ');
}

let onSignedOut: () => void = () => {};

/** Calls `run` when an answer says that the session has ended. */
export function whenSignedOut(run: () => void): void {
  onSignedOut = run;
}

/** The code of a refusal until the person has proved again who they are; its chain has the ways. */
const UNCONFIRMED = 10014;

let onUnconfirmed: (methods: readonly string[]) => Promise<boolean> = async () => false;

/** Calls `ask` when a request needs a confirmation; with `true`, it is sent again. */
export function whenUnconfirmed(ask: (methods: readonly string[]) => Promise<boolean>): void {
  onUnconfirmed = ask;
}

/** Sends a request below the API's base. Throws an {@link ApiError} for a refusal. */
export async function call<Result>(method: string, path: string, options: CallOptions = {}): Promise<Answer<Result>> {
  const response = await send(method, path, options);
  const answer = await readAnswer(response);
  if (!answer.success) {
    const unconfirmed = answer.errors.find(({ code }) => code === UNCONFIRMED);
    const methods = unconfirmed?.error_chain?.map(({ message }) => message) ?? [];
    if (unconfirmed && (await onUnconfirmed(methods))) return call(method, path, options);
    const isSignIn = path.startsWith('/user/sign_in');
    if (isSignIn) throw new ApiError(response.status, answer.errors);
    if (response.status === 401 || answer.errors.some(({ code }) => code === 9106)) onSignedOut();
    throw new ApiError(response.status, answer.errors);
  }
  const { headers } = response;
  return {
    result: answer.result as Result,
    messages: answer.messages,
    info: answer.result_info,
    diff: answer.diff,
    etag: headers.get('etag') ?? undefined,
    change: headers.get('zoneplane-change') ?? undefined,
    serial: headers.get('zoneplane-serial') ?? undefined,
  };
}

async function send(method: string, path: string, { body, headers, signal }: CallOptions): Promise<Response> {
  const plain = body === undefined || body instanceof FormData || body instanceof Blob;
  try {
    return await fetch(BASE + path, {
      method,
      headers: {
        ...(method !== 'GET' && { 'zoneplane-dashboard': '1' }),
        ...(!plain && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: plain ? (body as FormData | Blob) : JSON.stringify(body) }),
      ...(signal && { signal }),
      credentials: 'same-origin',
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, [{ code: 0, message: 'The server cannot be reached. What you typed is kept; try again.' }]);
  }
}

interface Envelope {
  readonly success: boolean;
  readonly result: unknown;
  readonly errors: readonly Message[];
  readonly messages: readonly Message[];
  readonly result_info?: ResultInfo;
  readonly diff?: Diff;
}

async function readAnswer(response: Response): Promise<Envelope> {
  try {
    return (await response.json()) as Envelope;
  } catch {
    const message = `The server answered with status ${response.status} and no explanation.`;
    return { success: false, result: null, errors: [{ code: 0, message }], messages: [] };
  }
}

/** A path with its query; undefined and empty values are left out. */
export function pathWith(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const members = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(members.map(([name, value]) => [name, String(value)])).toString();
  return path + (text && `?${text}`);
}

/** Sends a file as it is; `onProgress` hears the share that has been sent, 0 to 1. Throws an {@link ApiError} for a refusal. */
export function upload(path: string, file: File, onProgress: (share: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', BASE + path);
    request.setRequestHeader('zoneplane-dashboard', '1');
    if (file.type !== '') request.setRequestHeader('content-type', file.type);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total);
    request.onerror = () =>
      reject(new ApiError(0, [{ code: 0, message: 'The server cannot be reached, or ended the upload.' }]));
    request.onload = () => {
      if (request.status < 300) {
        resolve();
        return;
      }
      if (request.status === 401) onSignedOut();
      reject(new ApiError(request.status, errorsIn(request.responseText, request.status)));
    };
    request.send(file);
  });
}

function errorsIn(text: string, status: number): readonly Message[] {
  try {
    return (JSON.parse(text) as Envelope).errors;
  } catch {
    return [{ code: 0, message: `The server answered with status ${status} and no explanation.` }];
  }
}
