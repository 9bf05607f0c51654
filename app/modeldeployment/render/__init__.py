"""Rendering: one role's Pods and a deployment's Services, as functions of the spec. Same inputs, same bytes."""

from app.modeldeployment.render.role import RenderedRole, render_role
from app.modeldeployment.render.services import render_services
from app.modeldeployment.render.subject import Identity, RenderRefused

__all__ = ["Identity", "RenderRefused", "RenderedRole", "render_role", "render_services"]
