/** `/zones/{zone_id}/dns_records`: CRUD, batch, import, export, usage (v4: §5, §7). */
import { z } from 'zod';
import { inSlices, nextSlice } from '../../base/slices.js';
import { importRecords } from '../../control/imports/records.js';
import { applyBatch, type BatchResult } from '../../control/records/batch.js';
import {
  createRecord,
  deleteRecord,
  editRecord,
  getRecord,
  listRecords,
  replaceRecord,
} from '../../control/records/records.js';
import { getZone } from '../../control/zones/zones.js';
import { BATCH_LIMIT_BYTES } from '../body.js';
import { success, successPage } from '../envelope.js';
import { failure } from '../errors.js';
import { pageOf, RECORD_PAGES, resultInfo, SHADOW_PAGES } from '../paging.js';
import { isPresent, switchValue, textValue } from '../query.js';
import type { Readers } from '../reading/readers.js';
import { queryOf } from '../request.js';
import { type Routes, routes } from '../routing/route.js';
import { answers, failureEnvelope, onlyId } from '../schema.js';
import { printTime } from '../times.js';
import { zoneParams } from '../zones/schema.js';
import { recordFilter } from './filter.js';
import { getsLong, listsLong } from './reads-long.js';
import {
  asOf,
  batchBody,
  batchResult,
  importAnswer,
  importForm,
  record,
  recordCreation,
  recordEdit,
  recordParams,
  recordQuery,
  usage,
  withShadow,
} from './schema.js';
import { exportText, FORM_LIMIT_BYTES, leftOutMessages, readZoneFile, streamText } from './transfer.js';
import { recordView } from './view.js';

/** Octets of a page that is written beside everything else that the main thread does. */
const MOST_OCTETS_HERE = 256 * 1024;
const LIST = '/zones/:zone_id/dns_records';
const ONE = `${LIST}/:dns_record_id`;

export interface RecordRouteOptions {
  /** Whether threads read exports. */
  readonly exportApart?: Readers['export'] | undefined;
}

export const recordRoutes = routes<RecordRouteOptions>({ tags: ['DNS records'], area: 'dns' }, (app, options) => {
  app.get(
    LIST,
    {
      narrowable: true,
      zoneState: 'read',
      readsLong: listsLong,
      summary: 'List records',
      params: zoneParams,
      querystring: recordQuery,
      list: record,
    },
    async (ctx, request) => {
      const filter = recordFilter(queryOf(request));
      const page = pageOf(queryOf(request), filter.withShadow ? SHADOW_PAGES : RECORD_PAGES);
      const asOf = textValue(queryOf(request), 'as_of');
      const found = await listRecords(ctx, request.params.zone_id, {
        ...filter,
        ...page,
        asOf,
        mostOctets: request.mayMove ? MOST_OCTETS_HERE : undefined,
      });
      const views = found.items.map(recordView);
      return successPage(views, resultInfo(page, views.length, found.totalCount));
    },
  );
  app.post(
    LIST,
    {
      narrowable: true,
      zoneState: 'write',
      oneCommit: true,
      summary: 'Create a record',
      params: zoneParams,
      body: recordCreation,
      answer: record,
    },
    async (ctx, { params, body }) => {
      const item = await createRecord(ctx, params.zone_id, body);
      return recordView(item);
    },
  );
  addGet(app);
  addReplacement(app);
  addEdit(app);
  addDeletion(app);
  addBatch(app);
  addUsage(app);
  addExport(app, options);
  addImport(app);
});

function addGet(app: Routes): void {
  app.get(
    ONE,
    {
      narrowable: true,
      zoneState: 'read',
      readsLong: getsLong,
      summary: 'Get a record',
      params: recordParams,
      querystring: z.object({ as_of: asOf, include_shadow_metadata: withShadow }),
      answer: record,
    },
    async (ctx, request) => {
      const { zone_id, dns_record_id } = request.params;
      const query = queryOf(request);
      const options = {
        asOf: textValue(query, 'as_of'),
        withShadow: switchValue(query, 'include_shadow_metadata'),
      };
      return recordView(await getRecord(ctx, zone_id, dns_record_id, options));
    },
  );
}

function addReplacement(app: Routes): void {
  app.put(
    ONE,
    {
      narrowable: true,
      zoneState: 'write',
      oneCommit: true,
      summary: 'Replace a record',
      params: recordParams,
      body: recordEdit,
      answer: record,
    },
    async (ctx, { params: { zone_id, dns_record_id }, body }) =>
      recordView(await replaceRecord(ctx, zone_id, dns_record_id, body)),
  );
}

function addEdit(app: Routes): void {
  app.patch(
    ONE,
    {
      narrowable: true,
      zoneState: 'write',
      oneCommit: true,
      summary: 'Edit a record',
      params: recordParams,
      body: recordEdit,
      answer: record,
    },
    async (ctx, { params: { zone_id, dns_record_id }, body }) =>
      recordView(await editRecord(ctx, zone_id, dns_record_id, body)),
  );
}

function addDeletion(app: Routes): void {
  app.delete(
    ONE,
    {
      narrowable: true,
      zoneState: 'write',
      oneCommit: true,
      summary: 'Delete a record',
      params: recordParams,
      answer: onlyId,
    },
    async (ctx, { params: { zone_id, dns_record_id } }) => {
      const { id } = await deleteRecord(ctx, zone_id, dns_record_id);
      return { id };
    },
  );
}

function addBatch(app: Routes): void {
  app.post(
    `${LIST}/batch`,
    {
      narrowable: true,
      zoneState: 'write',
      summary: 'Change many records, all or nothing',
      params: zoneParams,
      body: batchBody,
      answer: batchResult,
      bodyLimit: BATCH_LIMIT_BYTES,
    },
    async (ctx, { params, body }) => {
      const done = await applyBatch(ctx, params.zone_id, body);
      await nextSlice();
      return await inSlices(ctx.clock, batchViews(done));
    },
  );
}

type BatchViews = Record<keyof BatchResult, ReturnType<typeof recordView>[]>;

/** The records of a batch; with many of them, others get their turn between the write and the answer. */
function* batchViews(done: BatchResult): Generator<undefined, BatchViews> {
  const views: BatchViews = { deletes: [], patches: [], puts: [], posts: [] };
  for (const list of ['deletes', 'patches', 'puts', 'posts'] as const) {
    for (const item of done[list]) {
      views[list].push(recordView(item));
      yield;
    }
  }
  return views;
}

function addUsage(app: Routes): void {
  app.get(
    `${LIST}/usage`,
    { zoneState: 'read', summary: 'Count the records', params: zoneParams, answer: usage },
    async (ctx, { params }) => {
      const { recordCount } = await getZone(ctx, params.zone_id);
      return { record_quota: ctx.settings.limits.recordsPerZone ?? null, record_usage: recordCount };
    },
  );
}

function addExport(app: Routes, { exportApart }: RecordRouteOptions): void {
  app.get(
    `${LIST}/export`,
    {
      summary: 'Export the zone as a BIND zone file',
      params: zoneParams,
      response: { 200: z.string().describe('RFC 1035 zone file'), '4xx': failureEnvelope, '5xx': failureEnvelope },
    },
    async (ctx, request, reply) => {
      // Rather refused than answered with another state than the one asked for.
      if (isPresent(queryOf(request), 'as_of')) throw failure('noAsOf');
      const text = await streamText(exportText(ctx, request.params.zone_id, exportApart), ctx);
      reply.header('content-type', 'text/plain; charset=utf-8');
      return reply.send(text as never);
    },
  );
}

function addImport(app: Routes): void {
  app.post(
    `${LIST}/import`,
    {
      zoneState: 'write',
      rawBody: true,
      summary: 'Import a BIND zone file',
      consumes: ['multipart/form-data'],
      params: zoneParams,
      body: importForm,
      response: answers(importAnswer),
      bodyLimit: FORM_LIMIT_BYTES,
    },
    async (ctx, request) => {
      const [startedUs, beganUs] = [ctx.clock.nowUs(), ctx.clock.steadyUs()];
      const { text, proxied } = readZoneFile(request);
      const done = await importRecords(ctx, request.params.zone_id, text, { proxied });
      const endedUs = ctx.clock.nowUs();
      return {
        ...success({ recs_added: done.added, total_records_parsed: done.parsed }, leftOutMessages(done)),
        timing: {
          start_time: printTime(startedUs),
          end_time: printTime(endedUs),
          process_time: (ctx.clock.steadyUs() - beganUs) / 1_000_000,
        },
      };
    },
  );
}
