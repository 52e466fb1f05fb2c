/**
 * PUT of small objects, stored without Node's HTTP server and the framework. What asks for that is checked as for every request, by the
 * same functions; a request that is unusual, or refused before its body is read, is handled like all others.
 */
import { steadyMs } from '../../base/clock.js';
import { storeObject } from '../../bucket/store-object.js';
import type { Context } from '../../control/kernel/context.js';
import { printFieldLines } from '../../plain/field-lines.js';
import type { StoreAtOnce } from '../../plain/in-front.js';
import { fieldsByName } from '../../plain/request-head.js';
import { clientAddressFinder } from '../client-address.js';
import { success } from '../envelope.js';
import { describeError } from '../errors.js';
import { requireStillPermitted } from '../permission.js';
import { storageClassOf } from '../r2-buckets/request.js';
import { requestIdOf } from '../request.js';
import { authorOf, noteAnswer, noteWrite } from '../request-metrics.js';
import {
  ALWAYS,
  askedFor,
  authenticate,
  grantOf,
  OBJECT_AREA,
  type ObjectAnswerOptions,
  placeOfRequest,
} from './at-once.js';
import { stillCurrent } from './routes.js';
import { UPLOAD_LIMIT_BYTES } from './schema.js';
import { uploadedView } from './view.js';

export function createObjectUploads(options: ObjectAnswerOptions): StoreAtOnce {
  const { base, objects, trustedProxies, copy, count, requestMetrics } = options;
  const addressOf = clientAddressFinder(base.store, trustedProxies);
  return (upload, response, socket) => {
    const fields = copy === undefined ? fieldsByName(upload) : undefined;
    const place = fields && placeOfRequest(upload.url, fields);
    if (!place) return undefined;
    const beganMs = steadyMs(base.clock);
    const address = addressOf.call({ socket, headers: fields });
    // Before the credential is read: what is committed meanwhile counts.
    const state = base.store.committedState();
    const found = authenticate(base, fields, address);
    const grant = found && grantOf(base, found, place, 'PUT');
    if (!grant) return undefined;
    const storageClass = storageClassOf({ headers: fields });
    // One that is too many is counted by the framework.
    const quota = count({ caller: grant.caller, clientAddress: address });
    if (quota?.isExceeded) return undefined;
    const requestId = requestIdOf(base);
    const caller = { ...grant.caller, state };
    const requireStill = (): void =>
      requireStillPermitted(base, { ...askedFor(place, 'PUT'), caller, clientAddress: address });
    const context: Context = { ...base, actor: caller.actor, requestId, source: 'api', address, requireStill };
    const answer = (status: number, more: Readonly<Record<string, string>>, value: object): void => {
      const body = Buffer.from(JSON.stringify(value));
      const own = { 'x-request-id': requestId, 'content-type': 'application/json', 'content-length': `${body.length}` };
      const lines = { ...ALWAYS, ...quota?.fields, ...more, ...own };
      response.send(status, printFieldLines(Object.entries(lines).flat()), body);
      const { method, url: path } = upload;
      const answered = { method, path, status, ms: steadyMs(base.clock) - beganMs, requestId };
      response.whenOver(() => {
        if (status === 200) noteWrite(requestMetrics, answered, authorOf({ caller }), base.log);
        else noteAnswer(requestMetrics, answered, base.log);
      });
    };
    return storeObject(objects, grant.bucket, place.key, {
      headers: fields,
      body: [Buffer.from(upload.body)],
      limit: UPLOAD_LIMIT_BYTES,
      storageClass,
      beforeWrite: stillCurrent(context, caller),
    }).then(
      (item) => answer(200, {}, success(uploadedView(item))),
      (error: unknown) => {
        const failed = { id: requestId, originalUrl: upload.url, log: base.log, routeOptions: { config: OBJECT_AREA } };
        const { status, fields: more, body } = describeError(error, failed);
        answer(status, more, body);
      },
    );
  };
}
