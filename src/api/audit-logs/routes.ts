/** `/accounts/{account_id}/audit_logs`, `/user/audit_logs`, `/accounts/{account_id}/logs/audit`: the audit log. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { listAccountAudit, listUserAudit, sliceAccountAudit } from '../../control/access/audit.js';
import { accountParams } from '../accounts/schema.js';
import { streamText } from '../dns-records/transfer.js';
import { success, successPage } from '../envelope.js';
import { AUDIT_PAGES, pageOf, resultInfo } from '../paging.js';
import { choiceValue, type Query } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answersList, failureEnvelope } from '../schema.js';
import { EXPORT_TYPES, exportAudit } from './export.js';
import { pageFilter, sliceFilter, sliceOf } from './filter.js';
import {
  auditEventAnswer,
  auditEventQuery,
  auditExportQuery,
  auditLog,
  auditLogQuery,
  EXPORT_FORMATS,
} from './schema.js';
import { auditEventView, auditLogView } from './view.js';

const tags = ['Audit log'];

function directionOf(query: Query): 'asc' | 'desc' {
  return choiceValue(query, 'direction', ['asc', 'desc']) ?? 'desc';
}

export const auditLogRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    '/accounts/:account_id/audit_logs',
    {
      config: { area: 'audit', readsLong: true },
      schema: {
        tags,
        summary: 'List who did what in an account',
        params: accountParams,
        querystring: auditLogQuery,
        response: answersList(auditLog),
      },
    },
    async (request) => {
      const query = queryOf(request);
      const page = pageOf(query, AUDIT_PAGES);
      const asked = { ...page, direction: directionOf(query), filter: pageFilter(query) };
      const { items, totalCount } = await listAccountAudit(contextOf(request), request.params.account_id, asked);
      return successPage(items.map(auditLogView), resultInfo(page, items.length, totalCount));
    },
  );

  app.get(
    '/user/audit_logs',
    {
      config: { area: 'user', readsLong: true },
      schema: {
        tags,
        summary: 'List what you did',
        querystring: auditLogQuery,
        response: answersList(auditLog),
      },
    },
    async (request) => {
      const query = queryOf(request);
      const page = pageOf(query, AUDIT_PAGES);
      const asked = { ...page, direction: directionOf(query), filter: pageFilter(query) };
      const { items, totalCount } = await listUserAudit(contextOf(request), asked);
      return successPage(items.map(auditLogView), resultInfo(page, items.length, totalCount));
    },
  );

  app.get(
    '/accounts/:account_id/logs/audit',
    {
      config: { area: 'audit', readsLong: true },
      schema: {
        tags,
        summary: 'List who did what in an account, from a cursor on',
        params: accountParams,
        querystring: auditEventQuery,
        response: auditEventAnswer,
      },
    },
    async (request) => {
      const query = queryOf(request);
      const asked = { ...sliceOf(query), direction: directionOf(query), filter: sliceFilter(query) };
      const { items, next } = await sliceAccountAudit(contextOf(request), request.params.account_id, asked);
      const cursors = next === undefined ? {} : { after: next };
      return { ...success(items.map(auditEventView)), result_info: { count: items.length, cursors } };
    },
  );
  addExport(app, contextOf);
};

function addExport(app: RouteScope, contextOf: ContextOf): void {
  app.get(
    '/accounts/:account_id/logs/audit/export',
    {
      config: { area: 'audit' },
      schema: {
        tags,
        summary: 'Download who did what in an account',
        params: accountParams,
        querystring: auditExportQuery,
        response: { 200: z.string().describe('JSON lines, or CSV'), '4xx': failureEnvelope, '5xx': failureEnvelope },
      },
    },
    async (request, reply) => {
      const query = queryOf(request);
      const format = choiceValue(query, 'format', EXPORT_FORMATS) ?? 'jsonl';
      const asked = { direction: directionOf(query), filter: sliceFilter(query) };
      const context = contextOf(request);
      const pieces = exportAudit(context, request.params.account_id, asked, format);
      const stream = await streamText(pieces, context);
      reply.header('content-disposition', `attachment; filename="audit-log.${format}"`);
      return reply.type(EXPORT_TYPES[format]).send(stream as never);
    },
  );
}
