/** Answers with the compressed form of a stored response, or of one that is being stored, and keeps that form. */
import { Readable } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import { LEAST_OCTETS } from '../compress/compressible.js';
import { encodedBody } from '../compress/encoded-body.js';
import { HELD_MS } from '../compress/encoders.js';
import { type Answer, encodedFields } from './answer.js';
import type { CacheRequest, CacheState } from './cache-state.js';
import type { GrowingBody } from './growing-body.js';
import { joined, pump } from './pump.js';

/** For whom, and the key under which the response is stored. */
export interface Encoding {
  readonly request: CacheRequest;
  readonly network: string;
  readonly key: string;
}

/** The answer itself if it stays plain. */
export function encode(cache: CacheState, encoding: Encoding, answer: Answer): Answer | Promise<Answer> {
  const { encodable } = answer;
  if (!encodable) return answer;
  const { size, growing } = encodable;
  if (size !== undefined || !growing) return begin(cache, encoding, answer);
  return isLong(cache.clock, growing).then((long) => (long ? begin(cache, encoding, answer) : answer));
}

/** Whether a body is worth compressing: it is, unless it turns out to be short after a moment. */
function isLong(clock: Clock, body: GrowingBody): Promise<boolean> {
  return new Promise((resolve) => {
    const decide = (): void => {
      cancel();
      resolve(!body.isOver || body.size > LEAST_OCTETS);
    };
    const cancel = clock.after(HELD_MS, decide);
    body.whenLonger(LEAST_OCTETS, decide);
  });
}

function begin(cache: CacheState, { request, network, key }: Encoding, answer: Answer): Answer {
  const { forms, coding, size, growing } = answer.encodable!;
  const plain = answer.body;
  const others = forms.findGrowing(coding);
  if (others) {
    if (plain instanceof Readable) plain.on('error', () => {}).destroy();
    return encodedAnswer(answer, others.open());
  }
  const { account } = request;
  const isGone = plain instanceof Readable && plain.destroyed;
  const source = isGone
    ? undefined
    : encodedBody(plain as Readable | Uint8Array, (events) =>
        cache.compression.begin({ account, network }, coding, size, events),
      );
  if (!source) return answer;
  const { body, isWhole } = pump({
    source,
    length: undefined,
    maxOctets: cache.maxObjectOctets,
    ...{ memory: cache.filling, account },
    onPiece() {},
  });
  forms.begin(coding, body);
  void isWhole.then((whole) => {
    forms.end(
      coding,
      whole ? { body: joined(body.chunks, body.size), size: body.size } : undefined,
      size ?? growing!.size,
    );
    if (whole) cache.responses.resized(account, key);
  });
  return encodedAnswer(answer, body.open());
}

function encodedAnswer(answer: Answer, body: Readable): Answer {
  const { status, fields, result, encodable } = answer;
  return { status, fields: encodedFields(fields, encodable!.coding), body, result };
}
