/** Pages that show the state of the server to people, where users of GNS3 look for them. */
import { refusals } from '../base/errors/errors.js';
import { PRODUCT } from '../base/product.js';
import type { ImageLibrary } from '../files/images/image-library.js';
import { EMULATORS } from '../files/images/image-name.js';
import type { Uploads } from '../files/uploads/uploads.js';
import { empty, type Answer } from '../http/answer.js';
import type { Caller } from '../http/caller.js';
import type { Exchange } from '../http/exchange.js';
import { html, sendPage, type Markup, type Part } from '../http/page.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import type { Project } from '../lab/projects/project.js';
import type { LocalCompute } from '../run/local-compute.js';
import { computeReport, controllerReport } from './debug.js';
import { names, nothing } from './schemas.js';
import { WEB_UI } from './web-ui.js';

const tag = 'Pages';
const PAGE = { 200: { media: 'text/html' } } as const;
/** A longer table is cut. */
const MOST_ROWS = 1000;

const PAGES = html`<p>
  <a href="/console">Console</a> · <a href="/controller">Projects</a> · <a href="/compute">This host</a> ·
  <a href="/upload">Images</a> ·
  <a href="/v2/openapi.json">OpenAPI</a>
</p>`;

interface PageServices {
  readonly controller: Controller;
  readonly compute: LocalCompute;
  readonly images: ImageLibrary;
  readonly uploads: Uploads;
}

/** The root of the server as GNS3 has it. */
export function startPageRoute(controller: Controller, hasWebUi: boolean): Route {
  return route({
    method: 'GET',
    path: '/',
    tag,
    access: { right: 'projects:read' },
    summary: 'Lead to the web UI; without one, show the projects',
    params: nothing,
    answers: { ...PAGE, 302: null },
    handle: ({ exchange }) =>
      hasWebUi ? empty(302, [['Location', `${WEB_UI}/bundled`]]) : showProjects(controller, exchange),
  });
}

function showProjects({ projects, gns3Version }: Controller, exchange: Exchange): Answer {
  return sendPage(
    exchange,
    PRODUCT.name,
    html`<p>${PRODUCT.name} ${PRODUCT.version}, for clients of GNS3 ${gns3Version}</p>
      ${PAGES} ${table(['Project', 'Status'], projectRows(projects.all.values(), exchange.caller))}`,
  );
}

export function pageRoutes({ controller, compute, images, uploads }: PageServices): Route[] {
  const { projects } = controller;
  return [
    route({
      method: 'GET',
      path: '/controller',
      tag,
      access: { right: 'projects:read' },
      summary: 'Show the projects',
      params: nothing,
      answers: PAGE,
      handle: ({ exchange }) => showProjects(controller, exchange),
    }),
    route({
      method: 'GET',
      path: '/projects/{project_id}',
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show the nodes of a project',
      params: names('project_id'),
      answers: PAGE,
      handle: ({ params, exchange }) => {
        const project = projects.find(params.project_id);
        return sendPage(exchange, project.name, projectContent(project));
      },
    }),
    route({
      method: 'GET',
      path: '/compute',
      tag,
      access: { right: 'computes:read' },
      summary: 'Show how busy this host is, and the kinds of node that it can run',
      params: nothing,
      answers: PAGE,
      handle: async ({ exchange }) => {
        const types = await compute.nodeTypes();
        const { cpu_usage_percent: processor, memory_usage_percent: memory } = controller.load();
        return sendPage(
          exchange,
          'This host',
          html`${PAGES}
            <p>${processor} % of the processors and ${memory} % of the memory are in use.</p>
            <p>Kinds of node: ${types.join(', ')}</p>`,
        );
      },
    }),
    route({
      method: 'GET',
      path: '/upload',
      tag,
      access: { right: 'images:read' },
      summary: 'Show the images, and the uploads that are under way',
      params: nothing,
      answers: PAGE,
      handle: async ({ exchange }) => {
        const lists = await Promise.all(
          EMULATORS.map(async (emulator) =>
            (await images.list(emulator)).map(({ filename, filesize }) => [emulator, filename, filesize]),
          ),
        );
        return sendPage(
          exchange,
          'Images',
          html`${PAGES}
            <p>
              ${uploads.list().length} uploads are under way. Upload an image with
              <code>curl --upload-file IMAGE -X POST …/v2/compute/qemu/images/IMAGE</code>, or with
              <code>wirefarm push</code>, which continues what was interrupted.
            </p>
            ${table(['Emulator', 'Image', 'Bytes'], lists.flat())}`,
        );
      },
    }),
    route({
      method: 'GET',
      path: '/debug',
      tag,
      access: { right: 'admin' },
      summary: 'Show the reports for the diagnosis of faults (local servers only)',
      params: nothing,
      answers: PAGE,
      handle: async ({ exchange }) => {
        if (!controller.isLocal) throw refusals.debugLocalOnly();
        const reports = controllerReport(controller) + (await computeReport(controller, compute));
        return sendPage(
          exchange,
          'Reports',
          html`${PAGES}
            <pre>${reports}</pre>`,
        );
      },
    }),
  ];
}

function projectRows(projects: Iterable<Project>, caller: Caller): Part[][] {
  return [...projects].filter(({ id }) => caller.grantOn(id) !== undefined).map(projectRow);
}

function projectRow(project: Project): Part[] {
  const name = html`<a href="/projects/${project.id}">${project.name}</a>`;
  return [name, project.isOpen ? 'opened' : 'closed'];
}

function projectContent(project: Project): Markup {
  if (!project.isOpen)
    return html`${PAGES}
      <p>The project is closed.</p>`;
  const { topology } = project;
  const { nodes, links, drawings } = topology;
  const rows = [...nodes.ids()].map((id) => {
    const node = nodes.get(id);
    return node === undefined ? [] : [node.name, node.node_type, topology.statusOf(node)];
  });
  return html`${PAGES}
    <p>${nodes.size} nodes, ${links.size} links, ${drawings.size} drawings</p>
    ${table(['Node', 'Kind', 'Status'], rows)}`;
}

function table(heads: readonly string[], rows: readonly (readonly Part[])[]): Markup {
  const more = rows.length - MOST_ROWS;
  const line = (cells: readonly Part[]): Markup =>
    html`<tr>
      ${cells.map((cell) => html`<td>${cell}</td>`)}
    </tr>`;
  return html`<table>
      <tr>
        ${heads.map((head) => html`<th>${head}</th>`)}
      </tr>
      ${rows.slice(0, MOST_ROWS).map(line)}
    </table>
    ${more > 0 ? html`<p>… and ${more} more</p>` : ''}`;
}
