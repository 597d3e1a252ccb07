import { Hono, type Context } from 'hono'
import type { Projects as ProjectUpkeep } from '../upkeep/projects.ts'
import { checked } from '../wire/check.ts'
import { NewKey, NewProject, ProjectChange } from '../wire/project.ts'
import type { Access } from './access.ts'
import type { AppEnv } from './app-env.ts'
import type { Bodies } from './body.ts'
import { parseJsonBody } from './json-body.ts'

/** Projects and their keys: for the administrator. */
export function projectRoutes(dependencies: {
  readonly access: Access
  readonly bodies: Bodies
  readonly projects: ProjectUpkeep
}) {
  const { access, bodies, projects } = dependencies
  const json = <T>(c: Context<AppEnv>, work: (value: unknown) => Promise<T>) =>
    bodies.withBody(c, (body) => work(parseJsonBody(body)))

  return new Hono<AppEnv>()
    .use('/projects', access.allowAdmin())
    .use('/projects/*', access.allowAdmin())
    .get('/projects', async (c) => c.json({ projects: await projects.list() }))
    .post('/projects', (c) =>
      json(c, async (value) => {
        const made = await projects.create(checked(NewProject, value, 'INVALID_REQUEST'))
        return c.json(made, 201)
      }),
    )
    .get('/projects/:id', async (c) => c.json(await projects.read(c.req.param('id'))))
    .patch('/projects/:id', (c) =>
      json(c, async (value) => {
        const change = checked(ProjectChange, value, 'INVALID_REQUEST')
        const changed = await projects.change(c.req.param('id'), change)
        access.forget()
        return c.json(changed)
      }),
    )
    .delete('/projects/:id', async (c) => {
      await projects.destroy(c.req.param('id'))
      access.forget()
      return c.body(null, 204)
    })
    .get('/projects/:id/keys', async (c) =>
      c.json({ keys: await projects.listKeys(c.req.param('id')) }),
    )
    .post('/projects/:id/keys', (c) =>
      json(c, async (value) => {
        const asked = checked(NewKey, value, 'INVALID_REQUEST')
        const made = await projects.addKey(c.req.param('id'), asked)
        access.forget()
        return c.json(made, 201)
      }),
    )
    .delete('/projects/:id/keys/:keyId', async (c) => {
      await projects.revokeKey(c.req.param('id'), c.req.param('keyId'))
      access.forget()
      return c.body(null, 204)
    })
}
