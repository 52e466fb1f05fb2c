/** What of a request's body is there when the request is to be sent. */
import type { Readable } from 'node:stream';
import type { Clock } from '../../base/clock.js';

/** `later`: nothing has come, and more may. */
export type BodyBegin = 'begun' | 'empty' | 'later';

/** Most clients send the first octets right behind the head. Milliseconds. */
const RIGHT_BEHIND_MS = 10;

/** Calls one of the functions, once. */
export function whenBodyBegins(
  body: Readable,
  clock: Clock,
  act: (begin: BodyBegin) => void,
  onError: (error: Error) => void,
): void {
  const settle = (run: () => void): void => {
    cancel();
    body.off('readable', onReadable);
    body.off('error', fail);
    body.off('close', onClose);
    run();
  };
  const fail = (error: Error): void => settle(() => onError(error));
  const onClose = (): void => fail(new Error('the body was cut off'));
  // Without octets it announces the end.
  const onReadable = (): void => settle(() => act(body.readableLength > 0 ? 'begun' : 'empty'));
  const cancel = clock.after(RIGHT_BEHIND_MS, () => settle(() => act('later')));
  body.on('readable', onReadable);
  body.on('error', fail);
  body.on('close', onClose);
}
