/** `/zones/{zone_id}/dns_records`: CRUD, batch, import, export, usage (v4: §5, §7). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
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
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answers, answersList, answersOne, failureEnvelope, onlyId } from '../schema.js';
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

const tags = ['DNS records'];
/** Octets of a page that is written beside everything else that the main thread does. */
const MOST_OCTETS_HERE = 256 * 1024;
const LIST = '/zones/:zone_id/dns_records';
const ONE = `${LIST}/:dns_record_id`;

export interface RecordRouteOptions {
  readonly contextOf: ContextOf;
  /** Whether threads read exports. */
  readonly exportApart?: Readers['export'] | undefined;
}

export const recordRoutes: FastifyPluginAsyncZod<RecordRouteOptions> = async (app, options) => {
  addList(app, options);
  addCreation(app, options);
  addGet(app, options);
  addReplacement(app, options);
  addEdit(app, options);
  addDeletion(app, options);
  addBatch(app, options);
  addUsage(app, options);
  addExport(app, options);
  addImport(app, options);
};

function addList(app: RouteScope, { contextOf }: RecordRouteOptions): void {
  app.get(
    LIST,
    {
      config: { area: 'dns', narrowable: true, zoneState: 'read', readsLong: listsLong },
      schema: {
        tags,
        summary: 'List records',
        params: zoneParams,
        querystring: recordQuery,
        response: answersList(record),
      },
    },
    async (request) => {
      const filter = recordFilter(queryOf(request));
      const page = pageOf(queryOf(request), filter.withShadow ? SHADOW_PAGES : RECORD_PAGES);
      const asOf = textValue(queryOf(request), 'as_of');
      const found = await listRecords(contextOf(request), request.params.zone_id, {
        ...filter,
        ...page,
        asOf,
        mostOctets: request.mayMove ? MOST_OCTETS_HERE : undefined,
      });
      const views = found.items.map(recordView);
      return successPage(views, resultInfo(page, views.length, found.totalCount));
    },
  );
}

function addCreation(app: RouteScope, { contextOf }: RecordRouteOptions): void {
  app.post(
    LIST,
    {
      config: { area: 'dns', narrowable: true, zoneState: 'write', oneCommit: true },
      schema: {
        tags,
        summary: 'Create a record',
        params: zoneParams,
        body: recordCreation,
        response: answersOne(record),
      },
    },
    async (request) => {
      const item = await createRecord(contextOf(request), request.params.zone_id, request.body);
      return success(recordView(item));
    },
  );
}

function addGet(app: RouteScope, { contextOf }: RecordRouteOptions): void {
  app.get(
    ONE,
    {
      config: { area: 'dns', narrowable: true, zoneState: 'read', readsLong: getsLong },
      schema: {
        tags,
        summary: 'Get a record',
        params: recordParams,
        querystring: z.object({ as_of: asOf, include_shadow_metadata: withShadow }),
        response: answersOne(record),
      },
    },
    async (request) => {
      const { zone_id, dns_record_id } = request.params;
      const query = queryOf(request);
      const options = {
        asOf: textValue(query, 'as_of'),
        withShadow: switchValue(query, 'include_shadow_metadata'),
      };
      return success(recordView(await getRecord(contextOf(request), zone_id, dns_record_id, options)));
    },
  );
}

function addReplacement(app: RouteScope, { contextOf }: RecordRouteOptions): void {
  app.put(
    ONE,
    {
      config: { area: 'dns', narrowable: true, zoneState: 'write', oneCommit: true },
      schema: {
        tags,
        summary: 'Replace a record',
        params: recordParams,
        body: recordEdit,
        response: answersOne(record),
      },
    },
    async (request) => {
      const { zone_id, dns_record_id } = request.params;
      return success(recordView(await replaceRecord(contextOf(request), zone_id, dns_record_id, request.body)));
    },
  );
}

function addEdit(app: RouteScope, { contextOf }: RecordRouteOptions): void {
  app.patch(
    ONE,
    {
      config: { area: 'dns', narrowable: true, zoneState: 'write', oneCommit: true },
      schema: { tags, summary: 'Edit a record', params: recordParams, body: recordEdit, response: answersOne(record) },
    },
    async (request) => {
      const { zone_id, dns_record_id } = request.params;
      return success(recordView(await editRecord(contextOf(request), zone_id, dns_record_id, request.body)));
    },
  );
}

function addDeletion(app: RouteScope, { contextOf }: RecordRouteOptions): void {
  app.delete(
    ONE,
    {
      config: { area: 'dns', narrowable: true, zoneState: 'write', oneCommit: true },
      schema: { tags, summary: 'Delete a record', params: recordParams, response: answersOne(onlyId) },
    },
    async (request) => {
      const { zone_id, dns_record_id } = request.params;
      const { id } = await deleteRecord(contextOf(request), zone_id, dns_record_id);
      return success({ id });
    },
  );
}

function addBatch(app: RouteScope, { contextOf }: RecordRouteOptions): void {
  app.post(
    `${LIST}/batch`,
    {
      bodyLimit: BATCH_LIMIT_BYTES,
      config: { area: 'dns', narrowable: true, zoneState: 'write' },
      schema: {
        tags,
        summary: 'Change many records, all or nothing',
        params: zoneParams,
        body: batchBody,
        response: answersOne(batchResult),
      },
    },
    async (request) => {
      const context = contextOf(request);
      const done = await applyBatch(context, request.params.zone_id, request.body);
      await nextSlice();
      return success(await inSlices(context.clock, batchViews(done)));
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

function addUsage(app: RouteScope, { contextOf }: RecordRouteOptions): void {
  app.get(
    `${LIST}/usage`,
    {
      config: { area: 'dns', zoneState: 'read' },
      schema: { tags, summary: 'Count the records', params: zoneParams, response: answersOne(usage) },
    },
    async (request) => {
      const context = contextOf(request);
      const { recordCount } = await getZone(context, request.params.zone_id);
      return success({ record_quota: context.settings.limits.recordsPerZone ?? null, record_usage: recordCount });
    },
  );
}

function addExport(app: RouteScope, { contextOf, exportApart }: RecordRouteOptions): void {
  app.get(
    `${LIST}/export`,
    {
      config: { area: 'dns' },
      schema: {
        tags,
        summary: 'Export the zone as a BIND zone file',
        params: zoneParams,
        response: { 200: z.string().describe('RFC 1035 zone file'), '4xx': failureEnvelope, '5xx': failureEnvelope },
      },
    },
    async (request, reply) => {
      // Rather refused than answered with another state than the one asked for.
      if (isPresent(queryOf(request), 'as_of')) throw failure('noAsOf');
      const context = contextOf(request);
      const text = await streamText(exportText(context, request.params.zone_id, exportApart), context);
      reply.header('content-type', 'text/plain; charset=utf-8');
      return reply.send(text as never);
    },
  );
}

function addImport(app: RouteScope, { contextOf }: RecordRouteOptions): void {
  app.post(
    `${LIST}/import`,
    {
      bodyLimit: FORM_LIMIT_BYTES,
      config: { area: 'dns', zoneState: 'write', rawBody: true },
      schema: {
        tags,
        summary: 'Import a BIND zone file',
        consumes: ['multipart/form-data'],
        params: zoneParams,
        body: importForm,
        response: answers(importAnswer),
      },
    },
    async (request) => {
      const context = contextOf(request);
      const [startedUs, beganUs] = [context.clock.nowUs(), context.clock.steadyUs()];
      const { text, proxied } = readZoneFile(request);
      const done = await importRecords(context, request.params.zone_id, text, { proxied });
      const endedUs = context.clock.nowUs();
      return {
        ...success({ recs_added: done.added, total_records_parsed: done.parsed }, leftOutMessages(done)),
        timing: {
          start_time: printTime(startedUs),
          end_time: printTime(endedUs),
          process_time: (context.clock.steadyUs() - beganUs) / 1_000_000,
        },
      };
    },
  );
}
