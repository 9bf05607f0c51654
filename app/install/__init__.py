"""What is installed on a cluster, made from the code: controller objects, permissions, the service, the CRDs."""
