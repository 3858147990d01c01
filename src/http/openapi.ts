/** The OpenAPI 3.1 document of a route table. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import type { RouteAccess } from './route-access.js';
import type { AnswerKind, BodyKind, RouteTable } from './route.js';
import { statusLine } from './headers.js';

interface ApiTitle {
  readonly title: string;
  readonly version: string;
}

interface Operation {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly operationId: string;
  readonly 'x-access': RouteAccess;
  readonly parameters: readonly object[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
}

/** Describes one route in each turn of the event loop, because all of them at once would hold the thread. */
export async function openApi(table: RouteTable, info: ApiTitle, errorBody: z.ZodType): Promise<object> {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of table.routes) {
    await nextTurn();
    const operations = (paths[documentedPath(route.path)] ??= {});
    const body = requestBody(route.body);
    operations[route.method.toLowerCase()] = {
      tags: [route.tag],
      summary: route.summary,
      operationId: operationId(route.method, route.path),
      'x-access': route.access,
      parameters: [...parameters('path', route.params), ...parameters('query', route.query)],
      ...(body === undefined ? {} : { requestBody: body }),
      responses: responses(route.answers),
    };
  }
  for (const socket of table.sockets) {
    const operations = (paths[documentedPath(socket.path)] ??= {});
    operations['get'] = {
      tags: [socket.tag],
      summary: `${socket.summary} (WebSocket)`,
      operationId: operationId('GET', socket.path),
      'x-access': socket.access,
      parameters: [...parameters('path', socket.params), ...parameters('query', socket.query)],
      responses: { 101: { description: statusLine(101) }, ...responses({}) },
    };
  }
  return {
    openapi: '3.1.0',
    info,
    paths,
    components: {
      responses: {
        Error: { description: 'The request was refused', content: jsonContent(errorBody, 'output') },
      },
    },
  };
}

/** OpenAPI has no parameters that span segments, so the document shows such a parameter like any other. */
function documentedPath(template: string): string {
  return template.replaceAll(':.+}', '}');
}

function operationId(method: string, template: string): string {
  const words = documentedPath(template)
    .replace(/[{}]/g, '')
    .split(/[/_-]/)
    .filter((word) => word !== '');
  return [method.toLowerCase(), ...words].join('_');
}

function parameters(place: 'path' | 'query', schema: z.ZodType | undefined): object[] {
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    in: place,
    required: place === 'path' || !(field as z.ZodType).safeParse(undefined).success,
    schema: jsonSchema(field as z.ZodType, 'input'),
  }));
}

function requestBody(body: BodyKind): object | undefined {
  if (body === undefined) return undefined;
  if (body === 'raw') return { content: { 'application/octet-stream': {} } };
  return { content: jsonContent(body, 'input') };
}

function responses(answers: Readonly<Record<number, AnswerKind>>): Record<string, object> {
  const known = Object.entries(answers).map(([status, kind]) => [
    status,
    { description: statusLine(Number(status)), ...content(kind) },
  ]);
  return { ...Object.fromEntries(known), default: { $ref: '#/components/responses/Error' } } as Record<
    string,
    object
  >;
}

function content(kind: AnswerKind): object {
  if (kind === null) return {};
  if (kind instanceof z.ZodType) return { content: jsonContent(kind, 'output') };
  return { content: { [kind.media]: {} } };
}

function jsonContent(schema: z.ZodType, io: 'input' | 'output'): object {
  return { 'application/json': { schema: jsonSchema(schema, io) } };
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
